import { useEffect, useState } from 'preact/hooks'
import lazy from 'preact-iso/lazy'
import { dialRequest, phoneBarrier } from './phone.ts'
import { loadStyle } from './styles.ts'

const Telephone = lazy(async () => {
  const [{ Phone }] = await Promise.all([import('../phone/phone.tsx'), loadStyle('phone')])
  return Phone
})

/** Milliseconds after the first paint of a page: its own requests come first. */
const delay = 1_000

/** Loads the telephone when the browser is idle, or when somebody calls. */
export const Phone = () => {
  const [isIdle, setIdle] = useState(false)
  const hasPhone = phoneBarrier() === null
  useEffect(() => {
    if (!hasPhone) return
    const timer = setTimeout(() => {
      // Safari has no idle callbacks.
      if ('requestIdleCallback' in globalThis) requestIdleCallback(() => setIdle(true), { timeout: 2_000 })
      else setIdle(true)
    }, delay)
    return () => clearTimeout(timer)
  }, [hasPhone])
  return isIdle || dialRequest.value ? <Telephone /> : null
}
