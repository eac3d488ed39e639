// The world of the demo: people, agents, questions and answers. Texts are short templates that the stories fill.
import type { Random } from './random.ts'

/** An end user of the demo's agents. */
export interface Person {
  readonly id: string
  readonly email: string
  readonly plan: string
  readonly country: string
  readonly phone: string
}

const FIRST = [
  'ada',
  'ben',
  'chiara',
  'deniz',
  'elif',
  'farid',
  'grace',
  'hana',
  'ivan',
  'june',
  'kofi',
  'lena',
  'mateo',
  'nora',
]
const LAST = [
  'okafor',
  'silva',
  'tanaka',
  'weber',
  'novak',
  'haddad',
  'larsen',
  'moreau',
  'rossi',
  'kim',
  'patel',
  'brown',
]
const COUNTRIES = ['DE', 'US', 'BR', 'IN', 'FR', 'JP', 'NG', 'IT']

/** `count` people; the same for the same seed. */
export function people(random: Random, count: number): Person[] {
  return Array.from({ length: count }, (_, i) => {
    const [first, last] = [random.pick(FIRST), random.pick(LAST)]
    return {
      id: `user_${String(i + 1).padStart(4, '0')}`,
      email: `${first}.${last}${i + 1}@example.com`,
      plan: random.skewed(['free', 'pro', 'team', 'enterprise']),
      country: random.skewed(COUNTRIES),
      phone: `+1555${String(random.between(1_000_000, 9_999_999))}`,
    }
  })
}

/** One exchange: what is asked, what is answered, and the tool that the answer takes. */
export interface Topic {
  readonly ask: readonly string[]
  readonly answer: readonly string[]
  readonly tool: string
  readonly args: (random: Random) => Record<string, unknown>
  readonly result: (random: Random) => Record<string, unknown>
}

const orderId = (random: Random): string => `A-${random.between(10_000, 99_999)}`

/** What people ask a shop's agents. */
export const topics: readonly Topic[] = [
  {
    ask: ['Where is my order {order}?', 'Has {order} shipped yet?', 'My parcel {order} is late, what happened?'],
    answer: [
      'Order {order} left our warehouse and should arrive tomorrow.',
      '{order} is with the carrier; it comes on Friday.',
    ],
    tool: 'lookup_order',
    args: random => ({ order_id: orderId(random) }),
    result: random => ({
      status: random.pick(['shipped', 'packed', 'delivered']),
      carrier: random.pick(['DHL', 'UPS']),
    }),
  },
  {
    ask: [
      'I want to send {order} back.',
      'How do I return the shoes from {order}?',
      'The jacket is too small, can I swap it?',
    ],
    answer: [
      'I have made a return label for {order}; it is in your inbox.',
      'No problem: the swap is booked and pick-up is free.',
    ],
    tool: 'create_return',
    args: random => ({ order_id: orderId(random), reason: random.pick(['too small', 'damaged', 'changed my mind']) }),
    result: random => ({ return_id: `R-${random.between(1000, 9999)}`, label: 'sent' }),
  },
  {
    ask: ['Why was I charged twice?', 'There is a payment of 49 EUR I do not know.', 'Please refund {order}.'],
    answer: [
      'I see the double charge; the refund is on its way and takes three days.',
      'The refund for {order} has been started.',
    ],
    tool: 'issue_refund',
    args: random => ({ order_id: orderId(random), amount: random.between(5, 200), currency: 'EUR' }),
    result: random => ({ refund_id: `F-${random.between(1000, 9999)}`, state: 'pending' }),
  },
  {
    ask: ['Which tent fits four people?', 'Do you have the blue one in stock?', 'What is a good present for a runner?'],
    answer: [
      'The Nordfjell 4 fits four and weighs 3.9 kg.',
      'Yes, five of the blue ones are left.',
      'Most runners like the light vest.',
    ],
    tool: 'search_catalog',
    args: random => ({ query: random.pick(['tent 4 persons', 'blue backpack', 'running vest']), limit: 5 }),
    result: random => ({ hits: random.between(0, 24) }),
  },
]

/** Fills `{order}` in a template. */
export function fill(template: string, order: string): string {
  return template.replaceAll('{order}', order)
}

/** What tools fail with. */
export const toolFailures = [
  'upstream timed out after 5000 ms',
  'order not found',
  'payment provider answered 502',
] as const
