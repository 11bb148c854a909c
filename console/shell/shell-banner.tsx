import { useEffect, useState } from 'preact/hooks'
import { otherAddress } from '../api/public-address.ts'
import { account, entered, session } from '../api/session.ts'
import { line, serverVersion } from '../live/socket.ts'
import { Button } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'
import { words } from '../words/en/shell.ts'
import { clock } from '../words/format.ts'
import { OtherAddress } from './other-address.tsx'

/** Milliseconds without a line after which a banner says so. */
const patience = 3_000

/** True once something holds for 3 s. */
const useLasting = (holds: boolean): boolean => {
  const [lasts, setLasts] = useState(false)
  useEffect(() => {
    if (!holds) return setLasts(false)
    const timer = setTimeout(() => setLasts(true), patience)
    return () => clearTimeout(timer)
  }, [holds])
  return lasts && holds
}

/** Lines above the page: an operator inside an account, and another address than the public one. */
export const VisitBanner = () => {
  const isVisiting = entered.value.some(({ uuid }) => uuid === account.value?.uuid)
  return (
    <div class="banners" role="status">
      {isVisiting && (
        <p class="frame-banner tone-notice">
          <Icon name="shield" /> {words.operatorHere(account.value?.name ?? '')}
        </p>
      )}
      {otherAddress() !== null && (
        <p class="frame-banner tone-notice">
          <Icon name="triangle-alert" /> <OtherAddress />
        </p>
      )}
    </div>
  )
}

/** Lines below the page, which give way: a lost connection, and a new version. */
export const LineBanner = () => {
  const { state, since } = line.value
  const [offlineSince, setOffline] = useState<number>()
  useEffect(() => {
    const update = () => setOffline(navigator.onLine ? undefined : Date.now())
    update()
    addEventListener('online', update)
    addEventListener('offline', update)
    return () => {
      removeEventListener('online', update)
      removeEventListener('offline', update)
    }
  }, [])
  const isLost = useLasting(state === 'lost' || offlineSince !== undefined)
  const isOutdated = serverVersion.value !== '' && serverVersion.value !== session.value?.installation.version
  return (
    <div role="status">
      {isLost && (
        <p class="frame-banner tone-bad">
          <Icon name="unlink" /> {words.line.lost(clock(offlineSince ?? since))}
        </p>
      )}
      {!isLost && state === 'polling' && (
        <p class="frame-banner tone-notice">
          <Icon name="hourglass" /> {words.line.polling}
        </p>
      )}
      {isOutdated && (
        <p class="frame-banner tone-info">
          <Icon name="refresh-cw" /> {words.line.outdated}
          <Button size="small" onClick={() => location.reload()}>
            {words.line.reload}
          </Button>
        </p>
      )}
    </div>
  )
}
