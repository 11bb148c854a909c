import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { otherAddress } from '../api/public-address.ts'
import { Banner } from '../parts/banner.tsx'
import { OtherAddress } from '../shell/other-address.tsx'
import { words } from '../words/en/shell.ts'

/** A page without a session: one column, one act. */
export const SessionCard = ({
  title,
  lead,
  children,
}: {
  title: string
  lead?: ComponentChildren
  children: ComponentChildren
}) => {
  useEffect(() => {
    document.title = `${title} · ${words.product}`
  }, [title])
  return (
    <div class="session-card">
      <span class="frame-mark" aria-hidden="true" />
      <h1>{title}</h1>
      {lead && <p class="soft">{lead}</p>}
      {otherAddress() !== null && (
        <Banner tone="notice">
          <OtherAddress />
        </Banner>
      )}
      {children}
    </div>
  )
}
