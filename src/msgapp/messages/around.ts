import type { Links } from '../media/links.ts'
import type { Surroundings } from './shown.ts'

/** What messages are shown with: links to their files. */
export const makeSurroundings = (links: Links): Surroundings => {
  const around = { link: links.of, contact: () => null }
  return async () => around
}
