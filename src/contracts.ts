import * as apiKeys from './domains/accounts/api-keys/contract.ts'
import * as accounts from './domains/accounts/contract.ts'
import * as applications from './domains/applications/contract.ts'
import * as audit from './domains/audit/contract.ts'
import * as callers from './domains/callers/contract.ts'
import * as clips from './domains/calls/clips/contract.ts'
import * as calls from './domains/calls/contract.ts'
import * as callOrders from './domains/calls/orders/contract.ts'
import * as connections from './domains/connections/contract.ts'
import * as contacts from './domains/contacts/contract.ts'
import * as contactDuplicates from './domains/contacts/duplicates/contract.ts'
import * as contactFiles from './domains/contacts/files/contract.ts'
import * as devices from './domains/devices/contract.ts'
import * as documents from './domains/documents/contract.ts'
import * as eventLog from './domains/events/log/contract.ts'
import * as health from './domains/health/contract.ts'
import * as bulkChanges from './domains/inbox/bulk/contract.ts'
import * as inbox from './domains/inbox/contract.ts'
import * as drafts from './domains/inbox/drafts/contract.ts'
import * as conversationMessages from './domains/inbox/messages/contract.ts'
import * as notes from './domains/inbox/notes/contract.ts'
import * as replies from './domains/inbox/replies/contract.ts'
import * as tags from './domains/inbox/tags/contract.ts'
import * as team from './domains/inbox/team/contract.ts'
import * as views from './domains/inbox/views/contract.ts'
import * as jobs from './domains/jobs/contract.ts'
import * as ledger from './domains/ledger/contract.ts'
import * as mail from './domains/mail/contract.ts'
import * as msgappChannels from './domains/msgapp/channels/contract.ts'
import * as chatChecks from './domains/msgapp/checks/contract.ts'
import * as deadLetters from './domains/msgapp/dead-letters/contract.ts'
import * as chatGroups from './domains/msgapp/groups/contract.ts'
import * as media from './domains/msgapp/media/contract.ts'
import * as messages from './domains/msgapp/messages/contract.ts'
import * as chatProfiles from './domains/msgapp/pictures/contract.ts'
import * as messageTimelines from './domains/msgapp/timeline/contract.ts'
import * as numbers from './domains/numbers/contract.ts'
import * as imports from './domains/numbers/imports/contract.ts'
import * as stock from './domains/numbers/operator/contract.ts'
import * as pricing from './domains/numbers/pricing/contract.ts'
import * as registrations from './domains/numbers/registration/contract.ts'
import * as numberTimelines from './domains/numbers/timeline/contract.ts'
import * as operators from './domains/operators/contract.ts'
import * as persons from './domains/persons/contract.ts'
import * as invitations from './domains/persons/invitations/contract.ts'
import * as mailedLinks from './domains/persons/mailed-links/contract.ts'
import * as members from './domains/persons/members/contract.ts'
import * as passkeys from './domains/persons/passkeys/contract.ts'
import * as secondFactor from './domains/persons/second-factor/contract.ts'
import * as sessions from './domains/persons/sessions/contract.ts'
import * as possession from './domains/possession/contract.ts'
import * as prices from './domains/prices/contract.ts'
import * as push from './domains/push/contract.ts'
import * as requests from './domains/requests/contract.ts'
import * as sandbox from './domains/sandbox/contract.ts'
import * as sandboxChats from './domains/sandbox/handsets/chat-contract.ts'
import * as trigger from './domains/sandbox/trigger/contract.ts'
import * as search from './domains/search/contract.ts'
import * as sms from './domains/sms/contract.ts'
import * as optOuts from './domains/sms/opt-outs/contract.ts'
import * as smsReceipts from './domains/sms/receipts/contract.ts'
import * as sendings from './domains/sms/sendings/contract.ts'
import * as smsTimelines from './domains/sms/timeline/contract.ts'
import * as tokens from './domains/tokens/contract.ts'
import * as usage from './domains/usage/contract.ts'
import * as users from './domains/users/contract.ts'
import * as webhooks from './domains/webhooks/contract.ts'
import * as webhookEndpoints from './domains/webhooks/endpoints/contract.ts'
import * as webhookHistory from './domains/webhooks/history/contract.ts'
import * as twilioAccount from './interfaces/twilio/account/contract.ts'
import * as twilioApplications from './interfaces/twilio/applications/contract.ts'
import * as twilioCalls from './interfaces/twilio/calls/contract.ts'
import * as compatCredentials from './interfaces/twilio/contract.ts'
import * as twilioLookup from './interfaces/twilio/lookup/contract.ts'
import * as twilioMessages from './interfaces/twilio/messages/contract.ts'
import * as twilioNumbers from './interfaces/twilio/numbers/contract.ts'
import * as twilioRecordings from './interfaces/twilio/recordings/contract.ts'
import * as twilioStreams from './interfaces/twilio/streams/contract.ts'
import type { Contract } from './platform/http/endpoint.ts'

/** All endpoints of the platform. OpenAPI, the CLI, the fuzzer and the isolation test walk this list. */
export const contracts: readonly Contract[] = [
  accounts,
  apiKeys,
  possession,
  operators,
  audit,
  jobs,
  sessions,
  persons,
  passkeys,
  secondFactor,
  invitations,
  mailedLinks,
  members,
  users,
  tokens,
  devices,
  numbers,
  documents,
  registrations,
  imports,
  stock,
  pricing,
  numberTimelines,
  sms,
  smsTimelines,
  smsReceipts,
  sendings,
  optOuts,
  callers,
  calls,
  callOrders,
  applications,
  clips,
  messages,
  messageTimelines,
  contacts,
  contactDuplicates,
  contactFiles,
  inbox,
  conversationMessages,
  notes,
  tags,
  replies,
  views,
  drafts,
  bulkChanges,
  team,
  media,
  chatChecks,
  chatGroups,
  chatProfiles,
  webhooks,
  eventLog,
  search,
  msgappChannels,
  deadLetters,
  ledger,
  usage,
  webhookEndpoints,
  webhookHistory,
  push,
  mail,
  requests,
  prices,
  connections,
  sandbox,
  sandboxChats,
  trigger,
  compatCredentials,
  health,
].flatMap((folder) => Object.values<Contract>(folder))

/** All endpoints in the shape of Twilio. The same tests walk this list; OpenAPI has a document of its own for it. */
export const compatContracts: readonly Contract[] = [
  twilioAccount,
  twilioMessages,
  twilioCalls,
  twilioRecordings,
  twilioStreams,
  twilioApplications,
  twilioNumbers,
  twilioLookup,
].flatMap((folder) => Object.values<Contract>(folder))
