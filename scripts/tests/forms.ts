import { matchesGlob } from 'node:path'

// `npm test` is the fast form: the main test of every promise. The full form has what this table lists, too, and the
// single tests that `fullForm` of test/needs.ts marks.

/** Files that only the full form runs, with the reason. */
export const fullOnly: readonly { readonly why: string; readonly files: readonly string[] }[] = [
  { why: 'types, lint and dead code: npm run check', files: ['test/checks.test.ts'] },
  { why: 'Firefox', files: ['test/console/firefox.test.ts', 'test/sdk/firefox.test.ts'] },
  { why: 'Swagger UI in a browser', files: ['test/pages.test.ts'] },
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
      'test/counterparts/{baresip,drive-smpp,kamailio,kannel,net-smpp,prosody,sipp,srtp,tshark}.test.ts',
      'src/domains/msgapp/networks/{prosody,ejabberd,whatsapp-web-links,whatsapp-web-refusals}.test.ts',
    ],
  },
  {
    why: 'calls through further media engines, processes and browsers',
    files: [
      'test/voice/{devices,load,processes,rtpengine,sipp,turn}.test.ts',
      'test/sdk/{crash,device,phone,platform}.test.ts',
      'src/adapters/media/embedded/chromium.test.ts',
    ],
  },
  {
    why: 'crashes at further moments',
    files: [
      'test/chaos/{inbox,links,msgapp,webhooks}.test.ts',
      'src/domains/calls/recordings/recording-encryption-crash.test.ts',
      'src/domains/callers/code-by-call-crash.test.ts',
      'src/domains/backup/{running,create/interrupted-backup}.test.ts',
      'src/domains/msgapp/networks/{whatsapp-web-kills,whatsapp-cloud-faults}.test.ts',
    ],
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
  { why: 'data of the catalogue', files: ['scripts/catalogue/*.test.ts', 'test/countries.test.ts'] },
]

/** What the fast form checks in part, within its tests. */
export const partly: readonly { readonly why: string; readonly files: readonly string[] }[] = [
  { why: 'accessibility by axe, and widths, of each page of a walk', files: ['test/console/*.test.ts'] },
  { why: 'two of three pages in the pseudo-locale', files: ['test/console/pseudo.test.ts'] },
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

/** Returns why only the full form runs a file; null for a file of the fast form. */
export const whyFullOnly = (file: string): string | null =>
  fullOnly.find(({ files }) => files.some((pattern) => matchesGlob(file, pattern)))?.why ?? null

/** The start of the reason with which the fast form skips a single test of the full form. */
export const fullFormMark = 'full form: '
