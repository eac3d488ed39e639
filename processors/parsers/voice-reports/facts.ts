// What a person reads in the reports beside this file: written by hand from the reports, never from the rows. The rows must agree.

/** One call as a person tells it. */
export interface Facts {
  readonly callId: string
  readonly number: string
  readonly startedAt: string
  /** Milliseconds of the whole call, null where the report doesn't say. */
  readonly durationMs: number | null
  /** US dollars, null where none is stated. */
  readonly cost: number | null
  readonly recording?: string
  readonly source: string
  /** The caller's words, the assistant's, and the milliseconds between them where both times are known. */
  readonly exchanges: readonly (readonly [caller: string, assistant: string, latencyMs?: number])[]
  /** Name, outcome, and milliseconds where they are known. */
  readonly tools: readonly (readonly [name: string, outcome: 'ok' | 'failed', tookMs?: number])[]
  /** Some of what is kept beside the conversation. */
  readonly metadata?: Readonly<Record<string, string>>
}

const ID = '0199f0d0-0000-7000-8000-0000000000'

/** Facts by file name. */
export const facts: Readonly<Record<string, Facts>> = {
  modern: {
    callId: '0199f0c2-8c51-7f3e-9a54-0a6d2f5f7b10',
    number: '+14155550142',
    startedAt: '2026-09-21 13:00:00.000',
    durationMs: 25_000,
    cost: 0.0731,
    recording: 'https://storage.example/7f3e-mono.wav?X-Signature=abc',
    source: 'artifact.messages',
    exchanges: [
      ['', 'Hi, this is Mia at Harbor Dental. How can I help?'],
      [
        'I need to move my cleaning on Tuesday.',
        'I have Thursday at ten or Friday at half past three. Which one?',
        2200,
      ],
      ['Thursday.', 'Done, see you Thursday at ten. Goodbye!', 1950],
    ],
    tools: [
      ['find_slots', 'ok', 1250],
      ['get_patient', 'ok', 500],
      ['book', 'ok', 800],
    ],
    metadata: {
      endedReason: 'assistant-ended-call',
      'analysis.successEvaluation': 'true',
      'analysis.structuredData': '{"rescheduled":true,"slot":"2026-09-24T10:00:00Z"}',
      stereoRecordingUrl: 'https://storage.example/7f3e-stereo.wav?X-Signature=abd',
      'assistant.name': 'Mia',
    },
  },
  declared: {
    callId: `${ID}02`,
    number: '+442079460000',
    startedAt: '2026-09-21 13:06:29.200',
    durationMs: null,
    cost: 0,
    source: 'artifact.messages',
    exchanges: [['', 'Hello? This is the clinic calling about your results.']],
    tools: [],
    metadata: { endedReason: 'customer-did-not-answer' },
  },
  'top-level': {
    callId: `${ID}03`,
    number: '+12125550187',
    startedAt: '2026-09-21 09:30:00.000',
    durationMs: 72_500,
    cost: 0.1408,
    recording: 'https://storage.example/top.wav',
    source: 'messages',
    exchanges: [
      ['', 'Good morning, Hartley Plumbing.'],
      ["There's water all over\nmy kitchen.", "I'm sending someone right away.", 3250],
    ],
    tools: [
      ['dispatch', 'failed', 500],
      ['dispatch', 'ok', 1200],
    ],
    metadata: { summary: 'Burst pipe; a plumber was sent.', 'analysis.successEvaluation': '8' },
  },
  openai: {
    callId: `${ID}04`,
    number: '+33123456789',
    startedAt: '2026-09-20 18:00:00.000',
    durationMs: 120_000,
    cost: 0.2,
    source: 'artifact.messagesOpenAIFormatted',
    exchanges: [
      ['', 'Grand Hotel, good evening.'],
      ['A taxi, please.\nFor three.', "One moment.\nI'll connect you with the desk."],
    ],
    tools: [
      ['order_taxi', 'failed'],
      ['get_room', 'ok'],
      ['transfer', 'ok'],
    ],
    metadata: { endedReason: 'assistant-forwarded-call' },
  },
  'text-english': {
    callId: `${ID}05`,
    number: '+14155550199',
    startedAt: '2026-09-21 08:15:00.000',
    durationMs: 90_000,
    cost: 0.0555,
    source: 'artifact.transcript',
    exchanges: [
      ['', 'Thanks for calling. Your order:\n1. Lamp: 2 pieces\n2. Guest: towels\nIs that right?'],
      ['Yes. One question: does it ship by 5:30?', 'It does. Track it at https://shop.example/t: paste your number.'],
      ['Great\nthanks!', 'Bye.'],
    ],
    tools: [['lookup_order', 'ok', 480]],
    metadata: { 'analysis.successEvaluation': 'false' },
  },
  'text-german': {
    callId: 'anruf-2026/09/21-17',
    number: '+493012345678',
    startedAt: '2026-09-21 05:00:00.000',
    durationMs: 48_000,
    cost: 0.031,
    source: 'transcript',
    exchanges: [
      ['', 'Guten Morgen, Bäckerei Sonne.'],
      ['Haben Sie noch Brötchen?\nUnd eine Frage: wann schließen Sie?', 'Ja. Wir schließen um 18:00 Uhr.'],
      ['Danke.', ''],
    ],
    tools: [],
  },
  'text-chinese': {
    callId: `${ID}07`,
    number: '+862112345678',
    startedAt: '2026-09-21 03:00:00.000',
    durationMs: 60_000,
    cost: 0.018,
    recording: 'https://storage.example/zh.wav',
    source: 'artifact.transcript',
    exchanges: [
      ['', '您好，请问有什么可以帮您？'],
      ['我的订单：什么时候到？', '明天上午。'],
      ['好的，谢谢。', '不客气，再见。'],
    ],
    tools: [],
  },
  'text-names': {
    callId: `${ID}08`,
    number: '+34910000000',
    startedAt: '2026-09-21 11:25:10.000',
    durationMs: 90_000,
    cost: 0.0425,
    source: 'artifact.transcript',
    exchanges: [
      ['', 'Hotel Sol, buenas tardes.'],
      ['Quería una habitación.\nNota: con vistas.', '¿Qué día?'],
      ['El 3 de octubre.', ''],
    ],
    tools: [],
  },
  offsets: {
    callId: `${ID}09`,
    number: '+61280000000',
    startedAt: '2026-09-21 12:08:30.000',
    durationMs: 90_000,
    cost: 0.09,
    recording: 'https://storage.example/9-stereo.wav',
    source: 'artifact.messages',
    exchanges: [
      ['', 'Welcome to the survey. How was your stay?'],
      ['Lovely, but the shower was cold.', 'Thanks. Would you come again?', 1500],
      ['Yes.', 'Goodbye.', 700],
    ],
    tools: [['save_answer', 'ok', 250]],
    metadata: { endedReason: 'exceeded-max-duration' },
  },
  'iso-times': {
    callId: `${ID}10`,
    number: '+15550100',
    startedAt: '2026-09-21 10:00:00.000',
    durationMs: 40_000,
    cost: 1.25,
    recording: 'https://storage.example/10.wav',
    source: 'artifact.messages',
    exchanges: [
      ['', 'Bank line.'],
      ['Block my card.', 'It is blocked.', 4000],
    ],
    tools: [
      ['block_card', 'failed', 1500],
      ['block_card', 'ok', 1500],
    ],
    metadata: { endedReason: 'customer-ended-call', 'analysis.structuredData': '{"card":"blocked"}' },
  },
  'cost-items': {
    callId: `${ID}11`,
    number: '+15550111',
    startedAt: '2026-09-21 11:26:40.000',
    durationMs: 30_000,
    cost: 0.3303,
    source: 'artifact.transcript',
    exchanges: [
      ['', 'Hi'],
      ['Wrong number', ''],
    ],
    tools: [],
  },
  'list-transcript': {
    callId: 'conv_01jx9',
    number: '+4915112345678',
    startedAt: '2026-09-21 11:43:20.000',
    durationMs: 33_000,
    cost: 0.064,
    source: 'transcript',
    exchanges: [
      ['', 'Hello, how can I help?'],
      ['When are you open in Berlin?', 'From nine to six.'],
      ['And on holidays?', 'I could not find out, sorry.'],
    ],
    tools: [
      ['hours', 'ok', 412],
      ['hours', 'failed', 5000],
    ],
    metadata: { 'analysis.data_collection_results': '{"city":"Berlin"}' },
  },
  functions: {
    callId: `${ID}13`,
    number: '+15550113',
    startedAt: '2026-09-21 11:00:00.000',
    durationMs: null,
    cost: 0.05,
    source: 'messages',
    exchanges: [
      ['', 'Weather line.'],
      ['Rome and Oslo?', 'Rome has 31 degrees, Oslo is unknown.\nAnything else?', 3000],
    ],
    tools: [
      ['weather', 'ok', 300],
      ['weather', 'failed', 2000],
    ],
  },
  'hang-up': {
    callId: `${ID}14`,
    number: 'sip:bob@pbx.example',
    startedAt: '2026-09-21 11:30:00.000',
    durationMs: 3000,
    cost: null,
    source: 'artifact.transcript',
    exchanges: [['', 'Hello, this is']],
    tools: [],
    metadata: { endedReason: 'customer-ended-call' },
  },
  tangled: {
    callId: `${ID}15`,
    number: '+15550115',
    startedAt: '2026-09-21 12:30:00.000',
    durationMs: 60_000,
    cost: 0.333333333,
    source: 'artifact.messages',
    exchanges: [['Cancel both.', 'Both are cancelled.', 3000]],
    tools: [
      ['cancel', 'ok', 500],
      ['cancel', 'failed', 1000],
      ['audit', 'ok'],
      ['notify', 'ok'],
    ],
  },
  beside: {
    callId: `${ID}16`,
    number: '+15550116',
    startedAt: '2026-09-21 13:10:00.000',
    durationMs: 20_000,
    cost: 0.011,
    recording: 'https://storage.example/16.mp3',
    source: 'transcript',
    exchanges: [['Bonjour ?', 'Un instant.']],
    tools: [],
    metadata: { endedReason: 'pipeline-error-openai-llm-failed', analysis: 'no analysis', campaign: 'autumn' },
  },
}
