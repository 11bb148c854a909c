import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { api } from '../api/client.ts'
import { session } from '../api/session.ts'
import { Banner } from '../parts/banner.tsx'
import { paths } from '../paths.ts'
import { adoptPreferences } from '../shell/choices.ts'
import { words } from '../words/en/sign-in.ts'
import { SessionCard } from './card.tsx'
import { SignInForm } from './sign-in-form.tsx'

/** Returns the address to go to after sign-in: one of the console, or its start. */
const target = (to: string | undefined): string =>
  to && /^\/console(?:\/|$|\?)/.test(to) && !to.includes('\\') && !to.startsWith('/console/sign-in') ? to : '/console'

/** The account that an address names. */
const accountOf = (to: string | undefined): string | undefined => /^\/console\/(ACC[\da-f-]{36})/.exec(to ?? '')?.[1]

export const SignInPage = () => {
  const { query, route: go } = useLocation()
  const [isClaimed, setClaimed] = useState(true)
  useEffect(() => {
    api('GET /console/claim', {}).then(
      ({ claimed }) => setClaimed(claimed),
      () => {},
    )
  }, [])
  return (
    <SessionCard title={words.signIn.title}>
      {!isClaimed && (
        <Banner tone="info" title={words.signIn.notClaimed}>
          {words.signIn.notClaimedHint}
        </Banner>
      )}
      <SignInForm
        account={accountOf(query.to)}
        onDone={(reply) => {
          session.value = reply
          adoptPreferences()
          go(target(query.to), true)
        }}
      />
      <a class="session-other" href={paths.forgotten()}>
        {words.signIn.forgotten}
      </a>
    </SessionCard>
  )
}
