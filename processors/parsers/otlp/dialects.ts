// All dialects. Where precedence.ts says nothing else, an earlier one comes before a later one.
import type { Dialect } from './dialect.ts'
import { adk } from './dialects/adk.ts'
import { agentFramework } from './dialects/agent-framework.ts'
import { agno } from './dialects/agno.ts'
import { anthropic } from './dialects/anthropic.ts'
import { application } from './dialects/application.ts'
import { autogen } from './dialects/autogen.ts'
import { claudeCode } from './dialects/claude-code.ts'
import { contract } from './dialects/contract.ts'
import { crewai } from './dialects/crewai.ts'
import { dspy } from './dialects/dspy.ts'
import { effect } from './dialects/effect.ts'
import { eve } from './dialects/eve.ts'
import { flue } from './dialects/flue.ts'
import { geminiCli } from './dialects/gemini-cli.ts'
import { genai } from './dialects/genai.ts'
import { genaiLegacy } from './dialects/genai-legacy.ts'
import { genkit } from './dialects/genkit.ts'
import { haystack } from './dialects/haystack.ts'
import { laminar } from './dialects/laminar.ts'
import { langchain } from './dialects/langchain.ts'
import { langfuse } from './dialects/langfuse.ts'
import { langsmith } from './dialects/langsmith.ts'
import { litellm } from './dialects/litellm.ts'
import { livekit } from './dialects/livekit.ts'
import { llamaindex } from './dialects/llamaindex.ts'
import { logfire } from './dialects/logfire.ts'
import { mastra } from './dialects/mastra.ts'
import { mcp } from './dialects/mcp.ts'
import { mcpToolbox } from './dialects/mcp-toolbox.ts'
import { mlflow } from './dialects/mlflow.ts'
import { openaiAgents } from './dialects/openai-agents.ts'
import { opencode } from './dialects/opencode.ts'
import { openinference } from './dialects/openinference.ts'
import { openlit } from './dialects/openlit.ts'
import { openrouter } from './dialects/openrouter.ts'
import { opentelemetry } from './dialects/opentelemetry.ts'
import { pydanticAi } from './dialects/pydantic-ai.ts'
import { semanticKernel } from './dialects/semantic-kernel.ts'
import { smolagents } from './dialects/smolagents.ts'
import { spectrum } from './dialects/spectrum.ts'
import { springAi } from './dialects/spring-ai.ts'
import { strands } from './dialects/strands.ts'
import { traceloop } from './dialects/traceloop.ts'
import { vercel } from './dialects/vercel.ts'
import { voltagent } from './dialects/voltagent.ts'

export const dialects: readonly Dialect[] = [
  ...[contract, langfuse, genai, openinference, traceloop, vercel, adk, pydanticAi, livekit, logfire, genaiLegacy],
  ...[strands, mastra, mlflow, langsmith, laminar, genkit, voltagent, claudeCode, anthropic, openlit, litellm],
  ...[
    openrouter,
    crewai,
    langchain,
    openaiAgents,
    agno,
    smolagents,
    dspy,
    llamaindex,
    haystack,
    agentFramework,
    autogen,
  ],
  ...[semanticKernel, springAi, geminiCli, flue, spectrum, mcp, mcpToolbox, opencode, eve, effect, opentelemetry],
  application,
]
