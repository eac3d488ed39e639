// Words of texts that read somewhat like what people write to agents: common ones first, since they are drawn more often.

const COMMON = `the to of and a in is it you that for on with this be as have are not at but from they we will can an if
my your or what when where how why please order thanks need want know find show make take give help send get see
use work call try ask tell think look come go day week time year today tomorrow yesterday number account price`
const STEMS = `refund invoice deliver return cancel update confirm ship track charge renew upgrade schedule approve reject
report transfer assign review resolve export import connect install configure monitor measure estimate compare
customer product payment address password calendar meeting ticket project contract warehouse supplier department
message document database server network session request response version feature account subscription balance
region country language currency discount voucher warranty insurance receipt parcel courier station airport hotel`
const ENDINGS = ['', 's', 'ed', 'ing', 'er', 'ers', 'able', 'ment', 'less', 'wise', 'like', 'ion']

const split = (text: string): string[] => text.split(/\s+/)

/** Some 1,200 words, lower case letters only. */
export const WORDS: readonly string[] = [
  ...new Set([...split(COMMON), ...ENDINGS.flatMap(ending => split(STEMS).map(stem => stem + ending))]),
]

/** A text as a literal of SQL. */
export const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
