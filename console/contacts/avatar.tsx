import { useEffect, useState } from 'preact/hooks'
import { addressOf, requestContext } from '../api/send.ts'
import { fullName } from '../words/format.ts'
import type { Contact } from './contact-details.ts'

/** Pictures that are being read. A list of 50 must not hold up the rest of the page. */
let running = 0
const waiting: (() => void)[] = []
const mostAtOnce = 4

const turn = async (): Promise<void> => {
  if (running >= mostAtOnce) await new Promise<void>((go) => waiting.push(go))
  running += 1
}

const end = (): void => {
  running -= 1
  waiting.shift()?.()
}

/** Reads a picture by the platform, which downloads and checks it: nothing is read from elsewhere. */
const readPicture = async (uuid: string, signal: AbortSignal): Promise<Blob | undefined> => {
  await turn()
  try {
    if (signal.aborted) return undefined
    const address = addressOf('/open/contacts/:contact_uuid/picture', { params: { contact_uuid: uuid } })
    const response = await fetch(address, { headers: { 'x-account': requestContext.account }, signal })
    return response.ok ? await response.blob() : undefined
  } catch {
    return undefined
  } finally {
    end()
  }
}

const initialsOf = ({ first_name, last_name }: Pick<Contact, 'first_name' | 'last_name'>): string =>
  [first_name, last_name].map((name) => [...name][0] ?? '').join('')

const hueOf = (name: string): number => ([...name].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % 6) + 1

/** The picture of a contact, or its initials. */
export const Avatar = ({ contact, large }: { contact: Contact; large?: boolean }) => {
  const { uuid, profile_pic_url: url } = contact
  const [source, setSource] = useState<string>()
  useEffect(() => {
    if (!url) return
    const controller = new AbortController()
    let address: string | undefined
    void readPicture(uuid, controller.signal).then((picture) => {
      if (!picture || controller.signal.aborted) return
      address = URL.createObjectURL(picture)
      setSource(address)
    })
    return () => {
      controller.abort()
      setSource(undefined)
      if (address) URL.revokeObjectURL(address)
    }
  }, [uuid, url])
  return (
    <span class={`contact-avatar hue-${hueOf(fullName(contact))} ${large ? 'is-large' : ''}`} aria-hidden="true">
      {source ? <img src={source} alt="" /> : initialsOf(contact)}
    </span>
  )
}
