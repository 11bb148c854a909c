import { section } from '../section.ts'

/** Texts of sign-in, claim, invitation and proof. */
export const words = section('signIn', {
  email: 'Email',
  password: 'Password',
  newPassword: 'Password',
  passwordHint: 'At least 12 characters. A few unrelated words work well.',
  name: 'Your name',
  key: 'API key or operator key',
  keyHint: 'The page does not keep the key.',
  wrong: 'The email or password is wrong.',
  wrongKey: 'This key is not valid.',
  paced: (seconds: number) => `Too many attempts. Try again in ${seconds} s.`,
  noConnection: 'The server cannot be reached. Check your connection and try again.',
  signIn: {
    title: 'Sign in',
    act: 'Sign in',
    withKey: 'Use a key instead',
    withPassword: 'Use email and password',
    forgotten: 'Forgotten password? An administrator of your account can make a new link for you.',
    notClaimed: 'This installation has no users yet.',
    notClaimedHint:
      'Open the link that the first start printed on the terminal. The command npx trunkline console claim-link prints a new one.',
  },
  again: {
    title: 'Sign in again',
    why: 'Your session has ended. Sign in to continue: the page stays as it is.',
  },
  claim: {
    title: 'Set up this installation',
    why: 'You become its operator, and the owner of its first account.',
    act: 'Create your user',
    claimed: 'This installation is set up already',
    claimedHint: 'The link works once. Sign in, or ask its operator for an invitation.',
    noToken: 'This link is incomplete',
    noTokenHint: 'Copy the whole link from the terminal. It ends with a long code.',
  },
  invitation: {
    title: (account: string) => `Join ${account}`,
    plainTitle: 'Accept the invitation',
    from: (person: string, email: string) => `${person} invited ${email}.`,
    toEmail: (email: string) => `For ${email}. Your open sessions end.`,
    newPassword: 'Choose a new password',
    set: 'Set the password and sign in',
    act: 'Accept and sign in',
    used: 'This invitation was used already',
    usedHint: 'Sign in with the password that you chose.',
    missing: 'This invitation is not valid',
    missingHint: 'It may have expired. Ask for a new link.',
  },
  proof: {
    title: 'Confirm that it is you',
    why: 'This action needs a fresh confirmation.',
    act: 'Confirm',
    wrong: 'That is not right. Try again.',
  },
  toSignIn: 'Go to sign-in',
})
