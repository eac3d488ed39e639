// Who speaks: the role of a message, and the label in front of a line of a transcript.

/** The two sides of a call. */
export type Speaker = 'caller' | 'assistant'

/** Roles of transcript messages, in both shapes that voice platforms send. Others (system, tool …) are no speech. */
const speakerOfRole: ReadonlyMap<string, Speaker> = new Map([
  ['user', 'caller'],
  ['customer', 'caller'],
  ['human', 'caller'],
  ['caller', 'caller'],
  ['bot', 'assistant'],
  ['assistant', 'assistant'],
  ['ai', 'assistant'],
  ['agent', 'assistant'],
  ['model', 'assistant'],
])

/** Roles of messages that are no speech. */
const silentRoles: ReadonlySet<string> = new Set([
  ...['system', 'developer', 'tool', 'function', 'tool_calls', 'tool_call', 'tool_call_result', 'function_call'],
  'function_result',
])

/** Labels that name a side wherever they stand. */
const plain: Readonly<Record<Speaker, string>> = {
  assistant: `
    ai, a.i., assistant, bot, agent, ai agent, ai assistant, voice agent, voice assistant, virtual agent, virtual assistant,
    chatbot, voicebot, voice bot, robot, ia, asistente, asistente virtual, asistente de ia, agente, agente de ia, assistante,
    assistant ia, assistant vocal, assistant virtuel, agent ia, agente ia, assistente, assistente virtual, assistente virtuale,
    assistente ia, robô, ki, ki-assistent, ki-agent, ki-assistentin, assistent, assistentin, sprachassistent, agentin,
    ai-assistent, ai-agent, virtuele assistent, virtuell assistent, virtuel assistent, avustaja, assistentti, agentti, tekoäly,
    asystent, asystentka, asystent ai, asistent, asistentka, asszisztens, asistan, sanal asistan, yapay zeka, ассистент,
    ассистентка, помощник, ии, бот, агент, асистент, асистентка, помічник, ші, βοηθός, πράκτορας, المساعد, مساعد, الوكيل, وكيل,
    الذكاء الاصطناعي, البوت, بوت, עוזר, העוזר, סוכן, בוט, دستیار, ربات, هوش مصنوعی, اسسٹنٹ, सहायक, एआई, एजेंट, बॉट, সহকারী, এআই,
    உதவியாளர், 助手, 语音助手, 語音助手, 智能助手, 智慧助理, 助理, 客服, 机器人, 機器人, 人工智能, 人工智慧, アシスタント, エージェント,
    ボット, 人工知能, 어시스턴트, 상담원, 상담사, 에이전트, 봇, 비서, 인공지능, trợ lý, trợ lý ảo, trợ lý ai, ผู้ช่วย, บอท, เอเจนต์, asisten,
    asisten virtual, agen`,
  caller: `
    user, caller, customer, human, usuario, usuaria, llamante, utilisateur, utilisatrice, appelant, appelante, usuário, usuária,
    utilizador, utilizadora, chamador, utente, chiamante, nutzer, nutzerin, benutzer, benutzerin, anrufer, anruferin, kunde,
    kundin, gebruiker, beller, klant, användare, användaren, bruker, bruger, opkalder, innringer, käyttäjä, soittaja, asiakas,
    użytkownik, rozmówca, dzwoniący, uživatel, volající, používateľ, volajúci, felhasználó, hívó, utilizator, apelant, kullanıcı,
    arayan, müşteri, пользователь, звонящий, абонент, користувач, потребител, χρήστης, καλών, المستخدم, مستخدم, العميل, عميل,
    المتصل, משתמש, המשתמש, מתקשר, לקוח, کاربر, صارف, उपयोगकर्ता, यूज़र, कॉलर, ব্যবহারকারী, பயனர், 用户, 用戶, 使用者, 来电者, 來電者,
    ユーザー, ユーザ, 発信者, お客様, 사용자, 발신자, 고객, người dùng, người gọi, khách hàng, ผู้ใช้, ผู้โทร, ลูกค้า, pengguna, penelepon,
    pelanggan`,
}

/** Labels that are words like others, too: they count only where no plain label of the same side does. */
const vague: Readonly<Record<Speaker, string>> = {
  assistant: `
    operator, receptionist, representative, rep, support, advisor, host, operador, operadora, recepcionista, atendente, opératrice,
    opérateur, conseiller, conseillère, operatore, operatrice, mitarbeiter, mitarbeiterin, berater, beraterin, medewerker,
    konsultant, operátor, temsilci, оператор, 代理, 坐席, オペレーター, 担当者, tổng đài viên`,
  caller: `
    client, guest, speaker, contact, lead, patient, prospect, callee, participant, cliente, clienta,
    interlocutor, interlocutora, gast, klient, klientka, kund, kunden, клиент, клієнт, zákazník, ügyfél, πελάτης, 客户, 客戶, 顾客, 顧客, 訪客, 访客, 손님, ग्राहक`,
}

/** Labels of what nobody says. */
const silent =
  'system, tool, tool call, tool result, tool_calls, tool_call_result, function, función, fonction, système, sistema'

const listed = (text: string): string[] =>
  text
    .split(',')
    .map(labelKey)
    .filter(label => label !== '')

const mapOf = (labels: Readonly<Record<Speaker, string>>): ReadonlyMap<string, Speaker> =>
  new Map((['assistant', 'caller'] as const).flatMap(side => listed(labels[side]).map(label => [label, side] as const)))

/** The side of a label that is known in every call; keys are as `labelKey` makes them. */
export const plainLabels = mapOf(plain)
export const vagueLabels = mapOf(vague)
export const silentLabels: ReadonlySet<string> = new Set(listed(silent))

/** A label as it is looked up. */
export function labelKey(label: string): string {
  return label.normalize('NFC').trim().toLowerCase().replace(/\s+/g, ' ')
}

/** The side that a role in lower case, or a translated one, stands for; undefined for what is no speech. */
export function speakerOf(role: string): Speaker | undefined {
  if (silentRoles.has(role)) return undefined
  return speakerOfRole.get(role) ?? plainLabels.get(labelKey(role))
}
