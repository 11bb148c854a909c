import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { api } from '../api/client.ts'
import { session } from '../api/session.ts'
import { Banner } from '../parts/banner.tsx'
import { adoptPreferences } from '../shell/choices.ts'
import { words } from '../words/en/sign-in.ts'
import { SessionCard } from './card.tsx'
import { SignInForm } from './sign-in-form.tsx'

/** Returns the address to go to after sign-in: one of the console, or its start. */
const target = (to: string | undefined): string =>
  to && /^\/console(?:\/|$|\?)/.test(to) && !to.includes('\\') && !to.startsWith('/console/sign-in') ? to : '/console'

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
        onDone={(reply) => {
          session.value = reply
          adoptPreferences()
          go(target(query.to), true)
        }}
      />
      <p class="soft session-note">{words.signIn.forgotten}</p>
    </SessionCard>
  )
}
