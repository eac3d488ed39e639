// The shapes of the dashboard API by the names that the code has for them.
import * as audit from '#proto/dashboard/audit.ts'
import * as auth from '#proto/dashboard/auth.ts'
import * as charts from '#proto/dashboard/charts.ts'
import * as conversations from '#proto/dashboard/conversations.ts'
import * as erasures from '#proto/dashboard/erasures.ts'
import * as errors from '#proto/dashboard/errors.ts'
import * as explain from '#proto/dashboard/explain.ts'
import * as exports from '#proto/dashboard/exports.ts'
import * as keywords from '#proto/dashboard/keywords.ts'
import * as ledger from '#proto/dashboard/ledger.ts'
import * as live from '#proto/dashboard/live.ts'
import * as loginSummary from '#proto/dashboard/login-summary.ts'
import * as metadata from '#proto/dashboard/metadata.ts'
import * as metrics from '#proto/dashboard/metrics.ts'
import * as organization from '#proto/dashboard/organization.ts'
import * as organizations from '#proto/dashboard/organizations.ts'
import * as prices from '#proto/dashboard/prices.ts'
import * as rawLogs from '#proto/dashboard/raw-logs.ts'
import * as rejects from '#proto/dashboard/rejects.ts'
import * as retention from '#proto/dashboard/retention.ts'
import * as shared from '#proto/dashboard/shared.ts'
import * as tools from '#proto/dashboard/tools.ts'
import * as userStories from '#proto/dashboard/user-stories.ts'
import * as views from '#proto/dashboard/views.ts'

export const NAMED_SCHEMAS: Readonly<Record<string, unknown>> = {
  ...audit,
  ...auth,
  ...charts,
  ...conversations,
  ...erasures,
  ...errors,
  ...explain,
  ...exports,
  ...keywords,
  ...ledger,
  ...live,
  ...loginSummary,
  ...metadata,
  ...metrics,
  ...organization,
  ...organizations,
  ...prices,
  ...rawLogs,
  ...rejects,
  ...retention,
  ...shared,
  ...tools,
  ...userStories,
  ...views,
}
