// The dashboard API on one screen.

import type { Endpoint } from './endpoint.ts'
import { apiKeysCreate, apiKeysDelete, apiKeysList } from './endpoints/api-keys/keys.ts'
import { auditExport, auditList } from './endpoints/audit/log.ts'
import { changePassword, signInByPassword } from './endpoints/auth/password.ts'
import { callback, callbackToken, login } from './endpoints/auth/provider.ts'
import { refreshToken, signInMethods, signOut, tokenKeys } from './endpoints/auth/session.ts'
import { chartsQuery } from './endpoints/charts/query.ts'
import { chartsCreate, chartsDelete, chartsList, chartsReorder, chartsUpdate } from './endpoints/charts/saved.ts'
import { conversationAudio } from './endpoints/conversations/audio.ts'
import { conversationDetail } from './endpoints/conversations/detail.ts'
import { conversationMessages } from './endpoints/conversations/messages.ts'
import { conversationRecording } from './endpoints/conversations/recording.ts'
import { conversationSpans } from './endpoints/conversations/spans.ts'
import { commandCenterSummary } from './endpoints/dashboard/command-center-summary.ts'
import { loginSummary } from './endpoints/dashboard/login-summary.ts'
import { dashboard } from './endpoints/dashboard/metrics.ts'
import { errorGroups } from './endpoints/errors/groups.ts'
import { errorsList } from './endpoints/errors/list.ts'
import { explainEvent } from './endpoints/explain/event.ts'
import { exportsDownload } from './endpoints/exports/download.ts'
import { exportsOrder } from './endpoints/exports/order.ts'
import { invitationsList, invitationsRevoke } from './endpoints/invitations/list.ts'
import { ledger } from './endpoints/ledger/ledger.ts'
import { receipt } from './endpoints/ledger/receipt.ts'
import { live } from './endpoints/live/live.ts'
import { membersLeave, membersRemove, membersUpdate } from './endpoints/members/change.ts'
import { membersAdd, membersList } from './endpoints/members/list.ts'
import { metadataDistribution } from './endpoints/metadata/distribution.ts'
import { conversationKeys, conversationKeysUpdate, eventKeys, eventKeysUpdate } from './endpoints/metadata/keys.ts'
import { organizationDisplayId } from './endpoints/organization/display-id.ts'
import { rejectedRequests } from './endpoints/organization/rejected-requests.ts'
import { retention, retentionUpdate } from './endpoints/organization/retention.ts'
import { organizationSummary } from './endpoints/organization/summary.ts'
import { organizationsDelete, organizationsUpdate } from './endpoints/organizations/change.ts'
import { organizationsCreate, organizationsList } from './endpoints/organizations/list.ts'
import { profile } from './endpoints/organizations/profile.ts'
import { getPrices } from './endpoints/prices/get.ts'
import { putPrices } from './endpoints/prices/put.ts'
import { quotePrice } from './endpoints/prices/quote.ts'
import { rawLogsCount } from './endpoints/raw-logs/count.ts'
import { eventIo } from './endpoints/raw-logs/event-io.ts'
import { errorsExport, rawLogsExport } from './endpoints/raw-logs/export.ts'
import { rawLogs } from './endpoints/raw-logs/list.ts'
import { createRule } from './endpoints/rules/create.ts'
import { listRules } from './endpoints/rules/list.ts'
import { removeRule } from './endpoints/rules/remove.ts'
import { tryRules } from './endpoints/rules/try.ts'
import { intentKeywords } from './endpoints/search/intent-keywords.ts'
import { toolCheckpointStats } from './endpoints/tools/checkpoint-stats.ts'
import { toolsDashboard } from './endpoints/tools/dashboard.ts'
import { toolErrorDistribution } from './endpoints/tools/error-distribution.ts'
import { toolStats } from './endpoints/tools/stats.ts'
import { toolTimeSeries } from './endpoints/tools/time-series.ts'
import { userStories } from './endpoints/user-stories/list.ts'
import { searchOptions } from './endpoints/user-stories/search-options.ts'
import { eraseUser } from './endpoints/users/erase.ts'
import { userErasure } from './endpoints/users/erasure.ts'
import { erasuresList } from './endpoints/users/erasures.ts'
import { viewsCreate, viewsDelete, viewsList, viewsUpdate } from './endpoints/views/saved.ts'

/** Every endpoint of the query node but /, /openapi.json, /healthz and /readyz. */
export const routes: readonly Endpoint[] = [
  signInMethods, // GET    /auth/methods
  signInByPassword, // POST   /auth/sign-in
  changePassword, // POST   /auth/password
  login, // GET    /auth/login
  callback, // GET    /auth/callback
  callbackToken, // POST   /auth/callback
  refreshToken, // POST   /auth/refresh
  signOut, // POST   /auth/sign-out
  tokenKeys, // GET    /auth/jwks.json
  profile, // GET    /dashboard/api/profile
  organizationsList, // GET    /dashboard/api/organizations
  organizationsCreate, // POST   /dashboard/api/organizations
  organizationsUpdate, // PUT    /dashboard/api/organizations/{id}
  organizationsDelete, // DELETE /dashboard/api/organizations/{id}
  membersLeave, // POST   /dashboard/api/organizations/{id}/leave
  membersList, // GET    /dashboard/api/organizations/{id}/members
  membersAdd, // POST   /dashboard/api/organizations/{id}/members
  membersUpdate, // PUT    /dashboard/api/organizations/{id}/members/{member_id}
  membersRemove, // DELETE /dashboard/api/organizations/{id}/members/{member_id}
  invitationsList, // GET    /dashboard/api/organizations/{id}/invitations
  invitationsRevoke, // DELETE /dashboard/api/organizations/{id}/invitations/{invitation_id}
  apiKeysList, // GET    /dashboard/api/organization/api-keys
  apiKeysCreate, // POST   /dashboard/api/organization/api-keys
  apiKeysDelete, // DELETE /dashboard/api/organization/api-keys/{id}
  auditList, // GET    /dashboard/api/organization/audit
  auditExport, // GET    /dashboard/api/organization/audit/export

  organizationSummary, // GET    /dashboard/api/organization/summary
  organizationDisplayId, // GET    /dashboard/api/organization/displayId
  rejectedRequests, // GET    /dashboard/api/organization/rejected-requests
  ledger, // GET    /dashboard/api/ledger
  receipt, // GET    /dashboard/api/receipts/{receipt}
  retention, // GET    /dashboard/api/organization/retention
  retentionUpdate, // PUT    /dashboard/api/organization/retention
  eventKeys, // GET    /dashboard/api/organization/event-keys
  eventKeysUpdate, // PUT    /dashboard/api/organization/event-keys
  conversationKeys, // GET    /dashboard/api/organization/conversation-keys
  conversationKeysUpdate, // PUT    /dashboard/api/organization/conversation-keys

  loginSummary, // GET    /dashboard/api/login-summary
  userStories, // POST   /dashboard/api/user-stories
  searchOptions, // POST   /dashboard/api/user-stories/search-options
  dashboard, // POST   /dashboard/api/dashboard
  commandCenterSummary, // POST   /dashboard/api/command-center-summary
  metadataDistribution, // POST   /dashboard/api/metadata-distribution
  chartsList, // GET    /dashboard/api/dashboard/charts
  chartsCreate, // POST   /dashboard/api/dashboard/charts
  chartsReorder, // PUT    /dashboard/api/dashboard/charts/reorder
  chartsUpdate, // PUT    /dashboard/api/dashboard/charts/{id}
  chartsDelete, // DELETE /dashboard/api/dashboard/charts/{id}
  chartsQuery, // POST   /dashboard/api/charts/query
  viewsList, // GET    /dashboard/api/views
  viewsCreate, // POST   /dashboard/api/views
  viewsUpdate, // PUT    /dashboard/api/views/{id}
  viewsDelete, // DELETE /dashboard/api/views/{id}

  toolStats, // POST   /dashboard/api/tool-stats
  toolTimeSeries, // POST   /dashboard/api/tool-time-series
  toolErrorDistribution, // POST   /dashboard/api/tool-error-distribution
  toolCheckpointStats, // POST   /dashboard/api/tool-checkpoint-stats
  toolsDashboard, // POST   /dashboard/api/tools-dashboard

  errorsList, // POST   /dashboard/api/errors
  errorGroups, // POST   /dashboard/api/errors/groups
  errorsExport, // POST   /dashboard/api/errors/export
  rawLogs, // POST   /dashboard/api/raw-logs
  rawLogsCount, // POST   /dashboard/api/raw-logs/count
  rawLogsExport, // POST   /dashboard/api/raw-logs/export
  eventIo, // POST   /dashboard/api/event-io
  exportsOrder, // POST   /dashboard/api/exports
  exportsDownload, // GET    /dashboard/api/exports/{ticket}
  live, // GET    /dashboard/api/live

  conversationMessages, // POST   /dashboard/api/conversation-messages
  conversationSpans, // POST   /dashboard/api/conversation-spans
  conversationDetail, // POST   /dashboard/api/conversation-detail
  conversationAudio, // GET    /dashboard/api/conversation-audio
  conversationRecording, // GET    /dashboard/api/conversation-audio/{token}
  intentKeywords, // POST   /dashboard/api/intent-keywords

  getPrices, // GET    /dashboard/api/prices
  putPrices, // PUT    /dashboard/api/prices
  quotePrice, // POST   /dashboard/api/prices/quote
  explainEvent, // POST   /dashboard/api/explain-event
  listRules, // GET    /dashboard/api/attribute-rules
  createRule, // POST   /dashboard/api/attribute-rules
  removeRule, // DELETE /dashboard/api/attribute-rules/{id}
  tryRules, // POST   /dashboard/api/attribute-rules/try

  eraseUser, // DELETE /dashboard/api/users/{user_id}
  userErasure, // GET    /dashboard/api/users/{user_id}/erasure
  erasuresList, // GET    /dashboard/api/erasures
]
