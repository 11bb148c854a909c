import { canUsePasskeys } from '../api/passkey.ts'
import { account, session } from '../api/session.ts'
import { Banner } from '../parts/banner.tsx'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/security.ts'
import { EmailAddress } from './email-address.tsx'
import { Passkeys } from './passkeys.tsx'
import { SecondFactor } from './second-factor.tsx'

/** How the person of the session proves who they are. */
export const SecurityPage = () => (
  <Page title={words.title} lead={words.about} width="narrow">
    {session.value?.person ? (
      <>
        {account.value?.second_factor_missing && (
          <Banner tone="notice">{words.required(account.value.name, canUsePasskeys())}</Banner>
        )}
        <EmailAddress person={session.value.person} />
        <SecondFactor />
        <Passkeys />
      </>
    ) : (
      <Banner tone="info">{words.asKey}</Banner>
    )}
  </Page>
)
