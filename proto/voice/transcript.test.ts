import t from 'tap'
import type { Clock } from './clock.ts'
import { plainLabels, silentLabels, vagueLabels } from './speakers.ts'
import { type KnownNames, readTranscript } from './transcript.ts'

const clock: Clock = {
  startedAtMs: 1_789_999_000_000,
  endedAtMs: null,
  lengthMs: 60_000,
  offsetUnitMs: 1,
  durationUnitMs: 1,
  times: new Map(),
}
const nobody: KnownNames = { assistant: [], caller: [] }

/** The turns as `A words` of the assistant and `C words` of the caller. */
function turns(text: string, names = nobody): string[] {
  return readTranscript(text, names, clock).map(turn => `${turn.speaker === 'assistant' ? 'A' : 'C'} ${turn.text}`)
}

t.test('labels of many languages name the sides', async t => {
  const pairs = [
    ['AI', 'User'],
    ['Assistant', 'Caller'],
    ['Bot', 'Customer'],
    ['Agent', 'Human'],
    ['Virtual Assistant', 'Client'],
    ['Operator', 'Guest'],
    ['KI', 'Nutzer'],
    ['Assistentin', 'Anruferin'],
    ['Asistente', 'Usuario'],
    ['Agente', 'Cliente'],
    ['Assistante', 'Appelant'],
    ['Conseillère', 'Client'],
    ['Assistente', 'Usuário'],
    ['Operatore', 'Utente'],
    ['Assistent', 'Beller'],
    ['Asystent', 'Użytkownik'],
    ['Avustaja', 'Soittaja'],
    ['Asistan', 'Müşteri'],
    ['Ассистент', 'Клиент'],
    ['Помічник', 'Користувач'],
    ['Βοηθός', 'Χρήστης'],
    ['المساعد', 'المتصل'],
    ['עוזר', 'לקוח'],
    ['सहायक', 'उपयोगकर्ता'],
    ['客服', '客户'],
    ['語音助手', '用戶'],
    ['アシスタント', 'お客様'],
    ['상담원', '고객'],
    ['Trợ lý', 'Khách hàng'],
    ['ผู้ช่วย', 'ลูกค้า'],
    ['Asisten', 'Pengguna'],
  ] as const
  for (const [assistant, caller] of pairs) {
    // The caller speaks first: an unknown first label would be taken for the assistant.
    t.strictSame(turns(`${caller}: 1\n${assistant}: 2\n${caller}: 3`), ['C 1', 'A 2', 'C 3'], `${assistant}, ${caller}`)
  }
  t.end()
})

t.test('no label means two things', async t => {
  for (const label of plainLabels.keys()) t.notOk(vagueLabels.has(label) || silentLabels.has(label), label)
  for (const label of vagueLabels.keys()) t.notOk(silentLabels.has(label), label)
})

t.test('a turn runs to the next label, whatever it holds', async t => {
  t.strictSame(
    turns('AI: Hi: how are you?\nStill there?\n\nUser: Note: call me at 5:30\nAI: https://a.b\r\nUser: ok'),
    ['A Hi: how are you?\nStill there?', 'C Note: call me at 5:30', 'A https://a.b', 'C ok'],
  )
  t.strictSame(turns('AI: Your booking:\nGuest: Bob\nContact: bob@x.y\nUser: Right'), [
    'A Your booking:\nGuest: Bob\nContact: bob@x.y',
    'C Right',
  ])
  t.strictSame(turns('AI:\nHello\n\nUser:\nHi'), ['A Hello', 'C Hi'], 'labels on lines of their own')
  t.strictSame(turns('AI: a\nUser: \nAI: b'), ['A a', 'A b'], 'a turn without words is none')
  t.strictSame(turns('AI: a\nSystem: transferring\nUser: b'), ['A a', 'C b'], 'nobody said what the system says')
  t.strictSame(turns('Recorded call\nAI: a'), ['A Recorded call\na'])
})

t.test('labels may be decorated', async t => {
  const expected = ['A Hello', 'C Hi']
  for (const text of [
    '**AI:** Hello\n**User:** Hi',
    '**AI**: Hello\n**User**: Hi',
    '- AI: Hello\n- User: Hi',
    '> Bot : Hello\n> Caller : Hi',
    '[AI]: Hello\n[User]: Hi',
    '(Agent) : Hello\n(Customer) : Hi',
    'Agent (Ada): Hello\nCustomer (+1 555 0001): Hi',
    'Speaker 1 (AI): Hello\nSpeaker 2 (User): Hi',
    'AI：Hello\nUser：Hi',
    'assistant:Hello\nUSER:Hi',
  ]) {
    t.strictSame(turns(text), expected, JSON.stringify(text))
  }
})

t.test('names of this call are labels, unknown ones are guessed', async t => {
  const names = { assistant: ['Ada Lovelace'], caller: ['+15550001'] }
  t.strictSame(turns('+15550001: Hi\nAda Lovelace: Hello', names), ['C Hi', 'A Hello'])
  t.strictSame(turns('Speaker 1: Hello\nSpeaker 2: Hi\nSpeaker 1: Bye'), ['A Hello', 'C Hi', 'A Bye'])
  t.strictSame(turns('Ada: Hello\nBob: Hi\nNote: x\nAda: Bye\nBob: Bye'), [
    'A Hello',
    'C Hi\nNote: x',
    'A Bye',
    'C Bye',
  ])
  t.strictSame(turns('just words\nand more: of them'), ['C just words\nand more: of them'])
})

t.test('a transcript on one line is cut at known labels of both sides only', async t => {
  t.strictSame(turns('AI: Hello. User: Hi: it is me. AI: Bye.'), ['A Hello.', 'C Hi: it is me.', 'A Bye.'])
  t.strictSame(turns('AI: The form has fields. Name: Bob'), ['A The form has fields. Name: Bob'])
  t.strictSame(turns('AI: Hello\\nUser: Hi\\nAI: Bye'), ['A Hello', 'C Hi', 'A Bye'], 'escaped twice')
})

t.test('times before and behind labels are read', async t => {
  const start = clock.startedAtMs as number
  const times = (text: string): (number | null)[][] =>
    readTranscript(text, nobody, clock).map(turn =>
      [turn.startedAtMs, turn.endedAtMs].map(ms => (ms === null ? null : ms - start)),
    )
  for (const text of [
    '[00:00:01.5] AI: a\n[00:00:12] User: b',
    '(0:01.5) AI: a\n(0:12) User: b',
    'AI (00:01.5): a\nUser (00:12): b',
    'AI [1.5s]: a\nUser [12s]: b',
    '00:01.5 AI: a\n00:12 User: b',
    '00:01.5 - AI: a\n00:12 - User: b',
  ]) {
    t.strictSame(
      times(text),
      [
        [1500, null],
        [12_000, null],
      ],
      text,
    )
    t.strictSame(turns(text), ['A a', 'C b'], text)
  }
  t.strictSame(times('[0:01 - 0:03] AI: a\n[0:04 --> 0:05] User: b'), [
    [1000, 3000],
    [4000, 5000],
  ])
  t.strictSame(
    times('[13:56:40] AI: a\n[13:56:45] User: b'),
    [
      [0, null],
      [5000, null],
    ],
    'times of the day',
  )
  t.strictSame(times('[2026-09-21 13:56:41] AI: a\nUser: b'), [
    [1000, null],
    [null, null],
  ])
  t.strictSame(times('AI: call at 5:30: fine'), [[null, null]])
})

t.test('long lines and runs of blanks cost no time', async t => {
  const blank = ' '.repeat(500_000)
  t.strictSame(turns(`AI${blank}x`), [`C AI${blank}x`])
  t.equal(turns(`AI: a\n${blank}\n${'User '.repeat(50_000)}`).length, 1)
  t.equal(turns('A: '.repeat(100_000)).length, 1)
})
