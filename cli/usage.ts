// What every command says when it is called wrongly; apart, so that saying it loads nothing else.

/** A command that cannot go on: its message is all that the user has to see. */
export class UsageError extends Error {}

export const BACKUP_USAGE = `parley backup DIR                                          copies everything of a running instance into a new folder`

export const CONTROL_USAGE = `parley control export FILE [--secrets]                     organizations, people, keys and settings as JSON lines; FILE - is
                        standard output; --secrets: also signing keys, passwords and sign-ins
parley control import FILE [--overwrite]                   writes what is missing; --overwrite also what stands there`

export const DEAD_USAGE = `parley dead list [--code CODE] [--org UUID] [--limit 50]   newest first
parley dead show ID [--raw]                                one letter; --raw writes its payload alone
parley dead replay ID... | --all [--code CODE] [--org UUID]  sends payloads to their partition again
parley dead drop   ID... | --all [--code CODE] [--org UUID]  removes letters for good`

export const DOCTOR_USAGE = `parley doctor [--json]                                     says what is wrong, and what to do about it`

export const EXPLAIN_USAGE = `parley explain FILE [--span ID] [--org UUID] [--rules FILE] [--all] [--json]
                        why spans of an OTLP export become what they become; FILE - is standard input,
                        JSON or protobuf, also gzipped; --rules: [{"attribute": "...", "field": "..."}]`

export const RESTORE_USAGE = `parley restore DIR [--check] [--replicas N]                puts a backup into an empty instance; --check: only reads it`

export const REPLAY_USAGE = `parley replay --partition P --from SEQ --to SEQ            reads a stored range of one partition again
parley replay --since TIME [--until TIME] [--partition P]  by time of arrival (ISO 8601, or "15m", "2h" ago)
parley replay status                                       the last replay of every partition`

export const REBUILD_USAGE = `parley rebuild [--org UUID] [--since TIME] [--until TIME] [--dry-run] [--resume | --anew]
                        builds aggregates and indexes again from rows, month by month; --resume: goes on
parley rebuild status`

export const REMAP_USAGE = `parley remap --org UUID [--since TIME] [--until TIME] [--stored] [--estimate]
                        history by the prices and rules of now: from payloads that are kept, of older rows the costs;
                        --stored: only from rows; --estimate: says what would change
parley remap status | cancel`

export const ERASE_USAGE = `parley erase user ID --org UUID | organization --org UUID    deletes for good, in the background
parley erase status [--org UUID]                           how far erasures are
parley erase lift ID --org UUID                            lets an erased user come back`

export const VERIFY_USAGE = `parley verify [--org UUID] [--since TIME] [--until TIME] [--repair] [--json]
                        recounts the store and says what differs; --repair puts it right
parley verify --ledger [--json]                            compares the store with the records of finished ranges`

export const SQL_USAGE = `parley sql check "SELECT …" [--json]                        what the guard says of a statement of a tenant
parley sql run "SELECT …" --org UUID [--json]              what it is answered; takes PARLEY_USER_SQL=sql`
