// What SQL of tenants may consist of. Whatever is not named here is refused, so that a new version of the engine adds nothing by itself.
// A function is here because ordinary analytics needs it; none of these reads files, settings, dictionaries, other tables or the network,
// tells about the server, waits, or makes much of little.

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).filter(word => word !== ''))

/** Kinds of nodes of `EXPLAIN AST`. */
export const AST_KINDS = words(`
  SelectWithUnionQuery SelectQuery SelectIntersectExceptQuery ExpressionList Function Identifier TableIdentifier Literal Subquery
  TablesInSelectQuery TablesInSelectQueryElement TableExpression TableJoin ArrayJoin Asterisk QualifiedAsterisk OrderByElement
  WindowDefinition WindowListElement WithElement InterpolateElement`)

/** Kinds of nodes of `EXPLAIN QUERY TREE`, before names are resolved. */
export const TREE_KINDS: ReadonlySet<string> = new Set([
  ...words('QUERY UNION LIST IDENTIFIER FUNCTION CONSTANT LAMBDA MATCHER JOIN ARRAY_JOIN SORT WINDOW INTERPOLATE'),
  'CROSS JOIN',
])

/**
 * Functions whose first argument may be a function: it has to be written as a lambda, since a bare name would hide what it calls.
 * Engines that tell which of their functions are such are asked too, and what they name beyond these is held to the same.
 */
export const HIGHER_ORDER = words(`
  arrayMap arrayFilter arrayCount arrayExists arrayAll arraySum arrayAvg arrayMin arrayMax arraySort arrayReverseSort arrayFirst
  arrayFirstIndex arrayLast arrayCumSum mapApply mapFilter`)

/** Functions that read a type out of their second argument. */
export const CASTS = words('cast accuratecastornull')

/** Functions whose right side may be a table by its bare name. */
export const MEMBERSHIPS = words('in notin')

/** Types that values may be made into: none whose values are read as the engine's own working state. */
const TYPE_NAMES = words(`
  int8 int16 int32 int64 int128 int256 uint8 uint16 uint32 uint64 uint128 uint256 float32 float64 decimal decimal32 decimal64 decimal128
  bool boolean string fixedstring uuid date date32 datetime datetime32 datetime64 array map tuple nullable lowcardinality
  int integer bigint smallint tinyint unsigned signed float double real precision text varchar char timestamp numeric`)

/** True for a type that consists of those, its numbers and the names of time zones. */
export const isAllowedType = (type: string): boolean => {
  const plain = type.replaceAll(/'[\w/+-]*'/g, '')
  return (
    /^[\w (),]+$/.test(plain) && (plain.toLowerCase().match(/[a-z_]\w*/g) ?? []).every(word => TYPE_NAMES.has(word))
  )
}

const OPERATORS = `
  plus minus multiply divide intDiv intDivOrZero modulo moduloOrZero negate equals notEquals less lessOrEquals greater greaterOrEquals
  and or not xor in notIn like notLike ilike notILike between isNull isNotNull exists tuple tupleElement array arrayElement cast CAST
  if multiIf coalesce ifNull nullIf assumeNotNull toNullable least greatest caseWithExpression isNotDistinctFrom lambda`

const ARITHMETIC = `abs sign round floor ceil ceiling trunc truncate sqrt pow power exp log log2 log10 ln bitAnd bitOr bitXor isNaN isFinite roundBankers`

const TYPES = `
  toString toInt8 toInt16 toInt32 toInt64 toUInt8 toUInt16 toUInt32 toUInt64 toFloat32 toFloat64 toDecimal64 toUUID toUUIDOrNull toUUIDOrZero
  toInt64OrNull toInt64OrZero toUInt64OrNull toUInt64OrZero toFloat64OrNull toFloat64OrZero toInt32OrNull toInt32OrZero accurateCastOrNull`

const TIMES = `
  now now64 today yesterday toDate toDate32 toDateTime toDateTime64 toDateTimeOrNull toDateOrNull parseDateTimeBestEffort
  parseDateTimeBestEffortOrNull toStartOfInterval toStartOfMinute toStartOfFiveMinutes toStartOfFifteenMinutes toStartOfTenMinutes
  toStartOfHour toStartOfDay toStartOfWeek toStartOfMonth toStartOfQuarter toStartOfYear toMonday toYear toQuarter toMonth toWeek
  toISOWeek toDayOfMonth toDayOfWeek toDayOfYear toHour toMinute toSecond toYYYYMM toYYYYMMDD toUnixTimestamp toUnixTimestamp64Milli
  fromUnixTimestamp64Milli toTimeZone dateDiff date_diff dateTrunc date_trunc dateAdd dateSub addSeconds addMinutes addHours addDays
  addWeeks addMonths addYears subtractSeconds subtractMinutes subtractHours subtractDays subtractWeeks subtractMonths subtractYears
  toIntervalSecond toIntervalMinute toIntervalHour toIntervalDay toIntervalWeek toIntervalMonth toIntervalQuarter toIntervalYear
  formatDateTime monthName`

const STRINGS = `
  length lengthUTF8 empty notEmpty lower upper lowerUTF8 upperUTF8 trim trimLeft trimRight trimBoth concat substring substringUTF8 left right
  position positionCaseInsensitive positionUTF8 startsWith endsWith replaceOne replaceAll replaceRegexpOne replaceRegexpAll match extract
  splitByChar splitByString multiSearchAny multiSearchAnyCaseInsensitive countSubstrings hasToken reverse
  JSONHas JSONLength JSONType JSONExtractString JSONExtractInt JSONExtractUInt JSONExtractFloat JSONExtractBool JSONExtractRaw
  JSONExtractArrayRaw isValidJSON domain path protocol`

const COLLECTIONS = `
  has hasAny hasAll indexOf arrayJoin arrayConcat arraySlice arrayDistinct arrayUniq arrayReverse arrayStringConcat arrayElementOrNull
  arrayEnumerate arrayZip arrayCumSum map mapKeys mapValues mapContains mapContainsKey`

const AGGREGATES = `
  count sum avg min max any anyLast argMin argMax uniq uniqExact uniqCombined median quantile quantileExact quantileTDigest quantiles
  groupArray groupUniqArray topK stddevPop stddevSamp varPop varSamp corr sumMap countDistinct
  groupBitOr groupBitAnd simpleLinearRegression`
const WINDOWS = 'row_number rank dense_rank lag lead lagInFrame leadInFrame first_value last_value ntile percent_rank'

const aggregates = [...words(AGGREGATES)]

/** Functions. Aggregates also with `If`, `Distinct` and `OrNull` behind their name. */
const FUNCTIONS: ReadonlySet<string> = new Set([
  ...[OPERATORS, ARITHMETIC, TYPES, TIMES, STRINGS, COLLECTIONS, WINDOWS].flatMap(text => [...words(text)]),
  ...HIGHER_ORDER,
  ...aggregates.flatMap(name =>
    ['', 'If', 'Distinct', 'DistinctIf', 'OrNull', 'IfOrNull'].map(suffix => name + suffix),
  ),
])

const insensitive = new Set([...FUNCTIONS].map(name => name.toLowerCase()))

/** True for a function of the list, in any case: SQL's own names are known to the engine so. */
export const isAllowedFunction = (name: string): boolean => insensitive.has(name.toLowerCase())

/** Every name of the list. */
export const ALLOWED_FUNCTIONS: readonly string[] = [...FUNCTIONS]
