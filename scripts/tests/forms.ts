import { matchesGlob } from 'node:path'

// `npm test` is the fast form: the main test of every promise. The full form has what these tables list, too, and the
// single tests that `fullForm` of test/needs.ts marks.

/** Files that only the full form runs, with the reason. */
export const fullOnly: readonly { readonly why: string; readonly files: readonly string[] }[] = [
  { why: 'types, lint and dead code: npm run check', files: ['test/checks.test.ts'] },
  { why: 'Firefox', files: ['test/console/{firefox,firefox-collisions}.test.ts', 'test/sdk/firefox.test.ts'] },
  { why: 'a minute of audio, and more', files: ['test/chaos/streams.test.ts'] },
  { why: 'Swagger UI in a browser', files: ['test/pages.test.ts'] },
  {
    why: 'linters and generators of OpenAPI, which are installed for it',
    files: ['test/{openapi-tools,generated-clients}.test.ts'],
  },
  {
    why: 'the official libraries of Twilio, which are installed for it',
    files: ['test/twilio/libraries.test.ts', 'test/twilio/voice.test.ts', 'test/voice/twilio-programs.test.ts'],
  },
  {
    why: 'packages, images and the machine’s own services',
    files: [
      ...['test/deploy/*.test.ts', 'test/{client,sdk}/package.test.ts', 'test/bundled-node.test.ts'],
      ...['src/platform/lib/systemd.test.ts', 'src/platform/db/os-account.test.ts'],
    ],
  },
  {
    why: 'programs of others; the fast form has one of SMPP, SIP and each chat network',
    files: [
      'test/counterparts/{baresip,drive-smpp,kamailio,kannel,kannel-carrier,net-smpp,pocketsphinx,prosody,sipp,srtp,tshark}.test.ts',
      'src/domains/msgapp/networks/{prosody,ejabberd,whatsapp-web-links,whatsapp-web-refusals}.test.ts',
    ],
  },
  {
    why: 'calls through further media engines, processes and browsers',
    files: [
      'test/voice/{devices,load,processes,program-edges,rtpengine,sipp,turn}.test.ts',
      'test/sdk/{crash,device,phone,platform}.test.ts',
      'src/adapters/media/embedded/chromium.test.ts',
    ],
  },
  {
    why: 'crashes at further moments',
    files: [
      'test/chaos/{carrier-leases,http-carrier,inbox,links,msgapp,webhooks}.test.ts',
      'test/cluster/*.test.ts',
      'src/domains/calls/recordings/recording-encryption-crash.test.ts',
      'src/domains/calls/orders/orders-crash.test.ts',
      'src/domains/callers/code-by-call-crash.test.ts',
      'src/domains/backup/{running,create/interrupted-backup}.test.ts',
      'src/domains/msgapp/networks/{whatsapp-web-kills,whatsapp-cloud-faults}.test.ts',
    ],
  },
  {
    why: 'servers of PostgreSQL that fill their disk, die and are promoted; the fast form has the table of their faults',
    files: ['test/{full-disk,several-hosts}.test.ts'],
  },
  {
    why: 'files of thousands of rows',
    files: [
      ...['src/domains/contacts/files/large-import.test.ts', 'src/domains/numbers/imports/large.test.ts'],
      'src/domains/calls/lease/heartbeat-during-import.test.ts',
    ],
  },
  {
    why: 'times, which a busy machine disturbs',
    files: ['test/linear.test.ts', 'src/domains/persons/sign-in-{time,flood}.test.ts'],
  },
  { why: 'lists among thousands of rows of others', files: ['test/{list-cost,deep-lists}.test.ts'] },
  {
    why: 'upgrades while processes of the version before run',
    files: ['test/migrations/{rolling,last-release}.test.ts', 'src/domains/backup/rehearsal/rehearse.test.ts'],
  },
  { why: 'data of the catalogue', files: ['scripts/catalogue/*.test.ts', 'test/countries.test.ts'] },
]

/**
 * Further tests of promises whose main tests the fast form runs. The full form and `--changed` run them, when they are
 * near. What a file costs decides: these took half of the processor time.
 */
export const whenNear: readonly { readonly why: string; readonly files: readonly string[] }[] = [
  {
    why: 'walks of the console; the fast form opens every section and answers a message (smoke.test.ts)',
    files: [
      'test/console/{inbox,inbox-sending,contacts,numbers,developers,people,logs,phone,applications}.test.ts',
      'test/console/{parts,security,mailed-links,ground,notifications,notification-settings,pseudo,channels}.test.ts',
      'test/console/{address,message-content,names,overlays,targets}.test.ts',
    ],
  },
  {
    why: 'further properties of every endpoint; the fast form has contract, isolation, fuzz and scopes',
    files: [
      'test/{audit,parsers,filters,lists,cursors,quotas,client/faults,client/operations}.test.ts',
      'test/{contents,credentials,trigger,expiry,race,secrets,sessions,form,rest,examples,error-field}.test.ts',
      'test/{unknown-fields,csv-export,access-audit,logs,walk,timelines}.test.ts',
    ],
  },
  {
    why: 'crashes and outages at further moments; the fast form has test/chaos/{kill,cuts} and the simulation',
    files: [
      'test/{chaos/stop,chaos/deliverers,didww/restart,outage,drain}.test.ts',
      'src/platform/db/crash.test.ts',
      'src/domains/calls/lease/{voice-crash,voice-service,voice-lease}.test.ts',
      'src/domains/msgapp/networks/sandbox-faults.test.ts',
      'src/domains/webhooks/delivery/receiver-faults.test.ts',
      'src/adapters/xmpp/{hostile,outage}.test.ts',
    ],
  },
  {
    why: 'backups that are damaged or crafted, and parts of a restore; the fast form makes and restores one',
    files: ['src/domains/backup/{verify/damaged-backup,restore/restore-backup,crafted-backup,fuzz}.test.ts'],
  },
  {
    why: 'attacks on signing in; the fast form signs in, proves and ends sessions',
    files: [
      'src/domains/persons/{sign-in-lockout,candidates,known-browser,session-changes}.test.ts',
      'src/domains/persons/{mailed-links/mailed-links,members/limited-keys,second-factor/required}.test.ts',
      'src/domains/{keys/rotation,callers/code-by-call,possession/stock-network,possession/displaced}.test.ts',
      'src/platform/http/request-limiters.test.ts',
    ],
  },
  {
    why: 'each provider of SMS over HTTP; the fast form has the same suite over a provider that settings describe',
    files: ['src/domains/sms/carrier-providers.test.ts'],
  },
  {
    why: 'the chat networks of WhatsApp; the fast form has the same suite on the sandbox’s network',
    files: ['src/domains/msgapp/networks/whatsapp-{web,cloud}.test.ts', 'src/adapters/whatsapp-web/*.test.ts'],
  },
  {
    why: 'calls in further shapes; the fast form calls out, and from a browser',
    files: [
      'test/voice/{trunks,port,inbound}.test.ts',
      'simulator/voice/voice.test.ts',
      'test/sdk/{example,connection}.test.ts',
      'src/adapters/media/{embedded/embedded-engine,embedded/worker-pool,rtpengine/rtpengine-engine}.test.ts',
      'src/adapters/didww/recordings.test.ts',
      'src/domains/calls/recordings/{recording-encryption,recording-upload}.test.ts',
    ],
  },
  {
    why: 'costs of statements among many rows, and random acts',
    files: [
      'src/domains/**/{query-cost,thread-cost}.test.ts',
      'src/domains/inbox/acts.test.ts',
      'src/domains/msgapp/chat-metrics.test.ts',
      'src/domains/msgapp/checks/{checks,batch-operation}.test.ts',
    ],
  },
  {
    why: 'commands of a program, and further starts',
    files: [
      'test/{docs,roles,modes,sandbox,database,first-keys,console/outage}.test.ts',
      'simulator/simulator.test.ts',
      'test/counterparts/{gateway,pgbouncer}.test.ts',
      'src/interfaces/cli/{calls,listen,lists}.test.ts',
      'src/domains/{mail/mail-command,connections/remote-connections,installation/migrate-command}.test.ts',
      'src/platform/db/{embedded,owner-role}.test.ts',
      'src/platform/lib/encrypted-file.test.ts',
      'scripts/tests/{run-files,plan}.test.ts',
    ],
  },
  {
    why: 'further parts of a domain, each with its rules; the fast form has the main test of the domain',
    files: [
      'src/domains/{push/push,documents/documents,persons/invitations/invitations}.test.ts',
      'src/domains/msgapp/media/{media,encryption}.test.ts',
      'src/domains/{contacts/files/files,callers/caller-id-kinds,numbers/lifecycle/suspension}.test.ts',
      'src/domains/numbers/{imports/imports,suppliers/{supplier-order-job,supplier-orders,supplier-registry}}.test.ts',
      'src/domains/{msgapp/runner/connection-runner,search/paging,inbox/bulk/bulk,webhooks/delivery/fan-out}.test.ts',
      'src/domains/{contacts/blocking/blocking,persons/second-factor/second-factor}.test.ts',
      'src/domains/sms/{submit/long-messages,submit/failover-submitter,opt-outs/keywords,sendings/sending-crash}.test.ts',
      'src/adapters/{sip-gateway/calls/call-ends,xmpp/{number-checks,people,liveness},didww/didww}.test.ts',
      'src/platform/jobs/consume/fence.test.ts',
      'src/interfaces/live/presence.test.ts',
    ],
  },
]

/** What the fast form checks in part, within its tests. */
export const partly: readonly { readonly why: string; readonly files: readonly string[] }[] = [
  { why: 'accessibility by axe, and widths, of each page of a walk', files: ['test/console/*.test.ts'] },
  {
    why: 'three of four random inputs',
    files: [
      ...[
        'src/domains/{ledger/concurrent-spenders,calls/ops,inbox/acts,sms/submit/long-messages}.test.ts',
        'src/adapters/xmpp/fuzz.test.ts',
      ],
      ...['packages/{sip/src/fuzz,phone/src/phone,smpp/src/codec}.test.ts', 'test/{fuzz,parsers}.test.ts'],
    ],
  },
]

const whyIn = (table: typeof fullOnly, file: string): string | null =>
  table.find(({ files }) => files.some((pattern) => matchesGlob(file, pattern)))?.why ?? null

/** Returns why only the full form runs a file; null for a file that `--changed` may choose. */
export const whyFullOnly = (file: string): string | null => whyIn(fullOnly, file)

/** Returns why the fast form leaves out a file; null for one of its own. */
export const whyLeftOut = (file: string): string | null => whyFullOnly(file) ?? whyIn(whenNear, file)

/** The start of the reason with which the fast form skips a single test of the full form. */
export const fullFormMark = 'full form: '
