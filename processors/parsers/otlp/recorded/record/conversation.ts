// What the stubbed models say. One fixed conversation in every protocol: the user asks for the weather, the model calls a tool, the
// tool answers, the model answers. The usage grows from call to call, so that sums tell which calls were counted.

/** What a model says in one call: a tool call or the answer; and what it counts for that. */
export interface Reply {
  readonly step: number
  readonly text: string | null
  readonly call: { readonly id: string; readonly name: string; readonly args: Readonly<Record<string, unknown>> } | null
  readonly usage: Usage
}

/** Tokens of one call; `cached` is part of `input`, `reasoning` of `output`. */
export interface Usage {
  readonly input: number
  readonly output: number
  readonly cached: number
  readonly reasoning: number
}

const CITY = 'Paris'
const WEATHER = '18 °C and sunny in Paris'
const ANSWER = 'It is 18 °C and sunny in Paris.'

/** Tools that frameworks offer beside the application's own, by which the model gives its answer. */
const answering: Readonly<Record<string, string>> = { final_answer: 'answer' }

/** The reply to a request that offers these tools and holds this many tool results. `prompt` is all its text. */
export function replyTo(tools: readonly string[], results: number, prompt: string): Reply {
  // Some frameworks tell the model what a tool said as if the user had.
  const told = Math.max(results, prompt.includes(WEATHER) ? 1 : 0)
  const step = told + 1
  const usage = usageOf(step)
  const weather = tools.find(tool => /weather/i.test(tool))
  if (told === 0 && weather !== undefined) {
    return { step, text: null, call: { id: `call_weather_${step}`, name: weather, args: { city: CITY } }, usage }
  }
  const answer = tools.find(tool => tool in answering)
  if (told > 0 && answer !== undefined) {
    const args = { [answering[answer] as string]: ANSWER }
    return { step, text: null, call: { id: `call_answer_${step}`, name: answer, args }, usage }
  }
  return textual(prompt) ?? { step, text: ANSWER, call: null, usage }
}

function usageOf(step: number): Usage {
  return step === 1
    ? { input: 120, output: 30, cached: 64, reasoning: 12 }
    : { input: 120 + 50 * (step - 1), output: 20 + step, cached: 100 + step, reasoning: 0 }
}

/** Frameworks that write tool calls into the text: ReAct prompts and DSPy's fields. */
function textual(prompt: string): Reply | null {
  if (prompt.includes('[[ ## next_tool_name ## ]]')) {
    // The instructions name the fields too; a call that was made stands in the trajectory.
    const done = prompt.includes('[[ ## observation_0 ## ]]')
    const tool = done ? 'finish' : 'get_weather'
    const args = done ? '{}' : JSON.stringify({ city: CITY })
    const text =
      `[[ ## next_thought ## ]]\n${done ? 'I can answer now.' : 'I need the weather.'}\n\n` +
      `[[ ## next_tool_name ## ]]\n${tool}\n\n[[ ## next_tool_args ## ]]\n${args}\n\n[[ ## completed ## ]]`
    const step = done ? 2 : 1
    return { step, text, call: null, usage: usageOf(step) }
  }
  if (prompt.includes('[[ ## reasoning ## ]]')) {
    const text = `[[ ## reasoning ## ]]\nThe tool told.\n\n[[ ## answer ## ]]\n${ANSWER}\n\n[[ ## completed ## ]]`
    return { step: 3, text, call: null, usage: usageOf(3) }
  }
  return null
}
