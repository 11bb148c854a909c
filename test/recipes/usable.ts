import type { Recipe, Request } from './recipe.ts'
import type { Scene } from './scene.ts'

// A recipe creates the things that its request needs, which costs more than the request. Requests that are refused
// before their effect leave them usable, so one made request serves several of them.

type RequestEntry = { request: Promise<Request>; isSpent: boolean }

const kept = new WeakMap<Recipe, WeakMap<Scene, RequestEntry>>()

const keptOf = (recipe: Recipe, scene: Scene, isGood: (known: RequestEntry) => boolean): RequestEntry => {
  const ofRecipe = kept.get(recipe) ?? new WeakMap<Scene, RequestEntry>()
  kept.set(recipe, ofRecipe)
  const known = ofRecipe.get(scene)
  if (known && isGood(known)) return known
  const made = { request: Promise.resolve(recipe.ok(scene)), isSpent: false }
  ofRecipe.set(scene, made)
  return made
}

/** The successful request of a recipe, which no one has sent with effect. */
export const usableRequest = (recipe: Recipe, scene: Scene): Promise<Request> =>
  keptOf(recipe, scene, ({ isSpent }) => !isSpent).request

/** A request that may have had its effect, for refusals of the credential. */
export const anyRequest = (recipe: Recipe, scene: Scene): Promise<Request> => keptOf(recipe, scene, () => true).request

/** The same as `usableRequest`, to send with effect. */
export const spendRequest = (recipe: Recipe, scene: Scene): Promise<Request> => {
  const one = keptOf(recipe, scene, ({ isSpent }) => !isSpent)
  one.isSpent = true
  return one.request
}
