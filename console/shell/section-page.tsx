import { useEffect } from 'preact/hooks'
import { account } from '../api/session.ts'
import { type PageProps, Page as PlainPage } from '../parts/page.tsx'
import { words } from '../words/en/shell.ts'
import { announcement } from './announcer.tsx'

let hasShownPage = false

/** After navigation, the title has the focus and is announced once. */
export const useArrival = (title: string): void => {
  useEffect(() => {
    // A dialog that the address opens has the focus already.
    const heading = document.querySelector('dialog[open]') ? null : document.querySelector<HTMLElement>('main h1')
    if (hasShownPage) {
      heading?.focus({ preventScroll: true })
      announcement.value = words.arrived(title)
    }
    hasShownPage = true
  }, [])
}

/** A page of a section: its title also names the window, with the account. */
export const Page = (props: Omit<PageProps, 'place'>) => {
  useArrival(props.title)
  return <PlainPage {...props} place={account.value?.name ?? words.product} />
}
