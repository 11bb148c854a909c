import { signal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { dialRequest, phoneBarrier } from './phone.ts'
import { loadStyle } from './styles.ts'

/** The telephone, once its code is here. */
const loaded = signal<ComponentType | null>(null)

/** Milliseconds after the first paint of a page: its own requests come first. And after a failure: the line may be lost. */
const delay = 1_000
const retryDelay = 5_000

const load = async (isNeeded: () => boolean): Promise<void> => {
  while (loaded.value === null && isNeeded()) {
    try {
      const [{ Phone }] = await Promise.all([import('../phone/phone-window.tsx'), loadStyle('phone')])
      loaded.value = Phone
    } catch {
      await new Promise((resolve) => setTimeout(resolve, retryDelay))
    }
  }
}

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
  const isNeeded = isIdle || dialRequest.value !== null
  useEffect(() => {
    if (!isNeeded) return
    let isMounted = true
    void load(() => isMounted)
    return () => {
      isMounted = false
    }
  }, [isNeeded])
  const Telephone = loaded.value
  return isNeeded && Telephone ? <Telephone /> : null
}
