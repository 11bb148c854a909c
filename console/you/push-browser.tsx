import { useEffect, useState } from 'preact/hooks'
import { useAct } from '../api/query.ts'
import { confirmPush, isPushOn, ownSubscription, pushObstacle, turnPushOff, turnPushOn } from '../live/push.ts'
import { Banner } from '../parts/banner.tsx'
import { Button } from '../parts/button.tsx'
import { Section } from '../parts/page.tsx'
import { Status } from '../parts/status.tsx'
import { showToast } from '../parts/toast.tsx'
import { words } from '../words/en/notifications.ts'

const { browser: text } = words

const obstacles = {
  insecure: text.insecure,
  'home-screen': text.homeScreen,
  unsupported: text.unsupported,
  denied: text.denied,
}

/** Turns the notifications of this browser on and off. */
export const PushBrowser = () => {
  const [isBusy, setBusy] = useState(false)
  const [fault, setFault] = useState<string>()
  const [obstacle, setObstacle] = useState(pushObstacle)
  const test = useAct('POST /open/me/push-subscriptions/:push_subscription_uuid/test', {
    after: () => showToast(text.testSent),
  })
  useEffect(() => {
    if (isPushOn.value === undefined) confirmPush().catch(() => {})
  }, [])
  const change = async (act: () => Promise<unknown>, done: string) => {
    if (isBusy) return
    setBusy(true)
    setFault(undefined)
    try {
      const result = await act()
      if (result === false) setObstacle(pushObstacle())
      else showToast(done)
    } catch (error) {
      // A browser without a push service reports AbortError; a refusal of the server has its own words.
      setFault(error instanceof DOMException ? text.noService : error instanceof Error ? error.message : text.noService)
    } finally {
      setBusy(false)
    }
  }
  const isOn = isPushOn.value === true
  return (
    <Section
      title={text.title}
      lead={text.about}
      actions={<Status tone={isOn ? 'good' : 'neutral'}>{isOn ? text.on : text.off}</Status>}
    >
      <div class="stack">
        {obstacle && <Banner tone="info">{obstacles[obstacle]}</Banner>}
        {(fault ?? test.error) && <Banner tone="bad">{fault ?? test.error?.message}</Banner>}
        {!obstacle && (
          <p class="row">
            {isOn ? (
              <>
                <Button
                  busy={test.isPending}
                  onClick={() => void test({ params: { push_subscription_uuid: ownSubscription.value } })}
                >
                  {text.test}
                </Button>
                <Button busy={isBusy} onClick={() => void change(turnPushOff, text.turnedOff)}>
                  {text.turnOff}
                </Button>
              </>
            ) : (
              <Button kind="primary" icon="bell" busy={isBusy} onClick={() => void change(turnPushOn, text.turnedOn)}>
                {text.turnOn}
              </Button>
            )}
          </p>
        )}
      </div>
    </Section>
  )
}
