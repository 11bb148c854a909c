import { otherAddress } from '../api/public-address.ts'
import { words } from '../words/en/shell.ts'

/** Says that the page was opened at another address than the public one, with a link to the same page there. */
export const OtherAddress = () => {
  const there = otherAddress()
  if (there === null) return null
  const { origin, pathname, search, hash } = location
  return (
    <span>
      {words.otherAddress(origin, there)} <a href={there + pathname + search + hash}>{words.openThere}</a>
    </span>
  )
}
