import { section } from '../section.ts'

/** Texts of the page on which a person sets up the second factor and passkeys. */
export const words = section('security', {
  title: 'Security',
  about: 'How you prove that it is you.',
  asKey: 'You are signed in with a key. A key has no second factor and no passkeys.',
  factor: {
    title: 'Second factor',
    about: 'Sign-ins with your password then need a code of an app on your phone too.',
    on: 'On',
    off: 'Off',
    left: (count: number) => `${count} of 10 recovery codes left`,
    setUp: 'Set up an authenticator app',
    scan: 'Scan this code with an authenticator app, such as Aegis, Google Authenticator or 1Password.',
    qr: 'Code for the authenticator app',
    byHand: 'Or enter this key by hand:',
    secret: 'Key',
    code: 'Code of the app',
    codeHint: 'Six digits. They change every 30 seconds.',
    activate: 'Turn on',
    codes: 'Recovery codes',
    once: 'Store these codes now: they are not shown again. Each signs you in once if your phone is lost.',
    copyAll: 'Copy all',
    stored: 'I have stored them',
    remove: 'Remove the second factor',
    removeTitle: 'Remove the second factor?',
    removeWhy: 'Your password alone then signs in. The recovery codes end.',
    removed: 'Second factor removed',
  },
})
