import { useEffect } from 'preact/hooks'
import { loadSession } from '../api/session.ts'
import type { Capability } from '../api/session-types.ts'
import { Button, ButtonLink } from '../parts/button.tsx'
import { Empty } from '../parts/page-states.tsx'
import { paths } from '../paths.ts'
import { words } from '../words/en/shell.ts'
import { list } from '../words/format.ts'
import { rolesWith } from './rights.ts'
import { Page } from './section-page.tsx'

// Pages that take the place of one that cannot be shown.

/** For a page that the role may not open: says who can. */
export const Forbidden = ({ needs, title }: { needs: Capability | 'operator' | undefined; title: string }) => {
  const roles = needs && needs !== 'operator' ? rolesWith[needs].map((role) => words.roles[role]) : []
  return (
    <Page title={title}>
      <Empty icon="lock" title={words.page.forbidden}>
        {roles.length > 0 ? words.page.whoCan(list(roles, 'disjunction')) : words.page.whoCanOperator}
      </Empty>
    </Page>
  )
}

export const Missing = () => (
  <Page title={words.page.missing}>
    <Empty
      icon="circle-question-mark"
      title={words.page.missingHint}
      act={<ButtonLink href={paths.home()}>{words.page.toStart}</ButtonLink>}
    />
  </Page>
)

export const NotLoaded = () => (
  <Page title={words.page.notLoaded}>
    <Empty
      icon="unlink"
      title={words.page.notLoadedHint}
      act={
        <Button kind="primary" onClick={() => location.reload()}>
          {words.page.reload}
        </Button>
      }
    />
  </Page>
)

export const NoAccount = ({ isUnknown }: { isUnknown: boolean }) => (
  <Page title={isUnknown ? words.page.unknownAccount : words.page.noAccount}>
    <Empty icon="users" title={isUnknown ? words.page.unknownAccountHint : words.page.noAccountHint} />
  </Page>
)

/** Shown while the first request finds no server. Tries again every 3 s. */
export const Unreachable = ({ onReached }: { onReached: () => void }) => {
  useEffect(() => {
    const attempt = () => loadSession().then(onReached, () => {})
    const timer = setInterval(attempt, 3_000)
    return () => clearInterval(timer)
  }, [onReached])
  return (
    <main class="alone" id="content">
      <h1>{words.page.unreachable}</h1>
      <p class="soft">{words.page.unreachableHint}</p>
    </main>
  )
}
