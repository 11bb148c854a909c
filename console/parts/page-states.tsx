import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { IconName } from '../icons/names.ts'
import { words } from '../words/en/parts.ts'
import { Button, ButtonLink } from './button.tsx'
import { classes } from './classes.ts'
import type { Refusal } from './form.tsx'
import { Icon } from './icon.tsx'
import { RequestId } from './values.tsx'

export type EmptyProps = {
  readonly icon?: IconName
  /** Names the content that is absent. */
  readonly title: string
  readonly children?: ComponentChildren
  /** The one act that makes it so. */
  readonly act?: ComponentChildren
}

export const Empty = ({ icon = 'inbox', title, children, act }: EmptyProps) => (
  <div class="empty">
    <span class="empty-icon">
      <Icon name={icon} />
    </span>
    <p class="empty-title">{title}</p>
    {children && <div class="empty-text">{children}</div>}
    {act && <div class="row empty-acts">{act}</div>}
  </div>
)

/** Loads that are faster than this show nothing: a flash is worse than a short wait. */
const skeletonDelay = 150

/** Lines in the shape of what is loading. They have their place at once, and are seen after 150 ms. */
export const Skeleton = ({ rows = 3, shape = 'lines' }: { rows?: number; shape?: 'lines' | 'table' | 'card' }) => {
  const [isShown, setShown] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), skeletonDelay)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div class={classes('skeleton', `skeleton-${shape}`, isShown && 'is-shown')} aria-busy="true">
      <span class="for-readers" role="status">
        {words.loading}
      </span>
      {Array.from({ length: rows }, (_, index) => (
        <span key={index} class={`skeleton-line line-${index % 3}`} />
      ))}
    </div>
  )
}

export type ErrorProps = {
  readonly refusal: Refusal & { readonly status?: number | undefined }
  readonly onRetry?: (() => void) | undefined
}

/** An error in the place of the content of a page: the message, the request, and a way on. */
export const ErrorState = ({ refusal, onRetry }: ErrorProps) => {
  const needsFactor = refusal.code === 'second_factor_required'
  if (refusal.status === 403 && !needsFactor) return <WhoCan />
  const isMissing = refusal.status === 404
  const isOffline = refusal.status === 0
  const title = isMissing ? words.error.missing : isOffline ? words.error.offline : words.error.title
  const text = isMissing ? words.error.missingHint : isOffline ? words.error.offlineHint : refusal.message
  return (
    <div class="empty is-error" role="alert">
      <span class="empty-icon">
        <Icon name={isMissing ? 'circle-question-mark' : 'triangle-alert'} />
      </span>
      <p class="empty-title">{title}</p>
      <div class="empty-text">{text}</div>
      {(needsFactor || (onRetry && !isMissing)) && (
        <div class="row empty-acts">
          {needsFactor ? (
            <ButtonLink href="/console/you/security">{words.error.secure}</ButtonLink>
          ) : (
            <Button icon="refresh-cw" onClick={onRetry}>
              {words.error.again}
            </Button>
          )}
        </div>
      )}
      {refusal.requestId && <RequestId id={refusal.requestId} />}
    </div>
  )
}

/** For a page that the role does not cover: who can help, instead of an error. */
export const WhoCan = () => (
  <Empty icon="lock" title={words.error.forbidden}>
    {words.error.whoCan}
  </Empty>
)
