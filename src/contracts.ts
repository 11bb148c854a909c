import * as accounts from './accounts/contract.ts'
import * as audit from './audit/contract.ts'
import * as callers from './callers/contract.ts'
import * as calls from './calls/contract.ts'
import * as connections from './connections/contract.ts'
import * as contacts from './contacts/contract.ts'
import * as contactFiles from './contacts/files/contract.ts'
import * as devices from './devices/contract.ts'
import * as documents from './documents/contract.ts'
import * as events from './events/contract.ts'
import * as health from './health/contract.ts'
import type { Contract } from './http/endpoint.ts'
import * as ledger from './ledger/contract.ts'
import * as setAside from './msgapp/aside/contract.ts'
import * as msgappChannels from './msgapp/channels/contract.ts'
import * as chatChecks from './msgapp/checks/contract.ts'
import * as chatGroups from './msgapp/groups/contract.ts'
import * as messages from './msgapp/messages/contract.ts'
import * as chatProfiles from './msgapp/pictures/contract.ts'
import * as numbers from './numbers/contract.ts'
import * as imports from './numbers/imports/contract.ts'
import * as stock from './numbers/operator/contract.ts'
import * as pricing from './numbers/pricing/contract.ts'
import * as registrations from './numbers/registration-contract.ts'
import * as operators from './operators/contract.ts'
import * as possession from './possession/contract.ts'
import * as prices from './prices/contract.ts'
import * as sandboxChats from './sandbox/chat-contract.ts'
import * as sandbox from './sandbox/contract.ts'
import * as sms from './sms/contract.ts'
import * as tokens from './tokens/contract.ts'
import * as users from './users/contract.ts'
import * as webhooks from './webhooks/contract.ts'

/** Every endpoint of the platform. OpenAPI, the CLI, the fuzzer and the isolation test walk this list. */
export const contracts: readonly Contract[] = [
  accounts,
  possession,
  operators,
  audit,
  users,
  tokens,
  devices,
  numbers,
  documents,
  registrations,
  imports,
  stock,
  pricing,
  sms,
  callers,
  calls,
  messages,
  contacts,
  contactFiles,
  chatChecks,
  chatGroups,
  chatProfiles,
  webhooks,
  msgappChannels,
  setAside,
  ledger,
  prices,
  connections,
  sandbox,
  sandboxChats,
  events,
  health,
].flatMap((folder) => Object.values<Contract>(folder))
