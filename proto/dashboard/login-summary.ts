// Shapes of /dashboard/api/login-summary: what happened of late, in words and figures.
import type { Static } from 'typebox'
import Type from 'typebox'
import { Count, DateTime, Uuid } from '#proto/dashboard/shared.ts'

/** Words of the text at most. */
export const SUMMARY_WORDS_MAX = 90

/** `org_id` names the organization as `x-org-id` does. */
export const LoginSummaryRequest = Type.Object({ org_id: Type.Optional(Uuid) })

/** `href` is a path of the dashboard with the filters that lead to what is counted. */
const Item = Type.Object({ title: Type.String(), detail: Type.String(), href: Type.String(), count: Count })

export const SummarySection = Type.Object({
  key: Type.Enum(['errors', 'usage']),
  title: Type.String(),
  href: Type.String(),
  items: Type.Array(Item),
})
export type SummarySection = Static<typeof SummarySection>

/** Made anew for every request and stored nowhere; without data the text says so, and there are no sections. */
export const LoginSummary = Type.Object({
  id: Uuid,
  org_id: Uuid,
  window_start: DateTime,
  window_end: DateTime,
  generated_at: DateTime,
  summary_text: Type.String(),
  sections: Type.Array(SummarySection),
})
export type LoginSummary = Static<typeof LoginSummary>
