import type { ProblemName } from '../../src/platform/http/problem.ts'
import type { Scene } from './scene.ts'

/** The inputs of one call. */
export type Request = {
  params?: Record<string, string>
  query?: Record<string, string | number | boolean>
  /** JSON, or a string where the contract takes text. */
  body?: unknown
  /** The token of a voice client. */
  bearer?: string
  /** The cookie of a session, instead of the credential of the contract. */
  cookie?: string
}

type Make = (scene: Scene) => Request | Promise<Request>

/**
 * Brings an endpoint to each of its answers. `ok` is the successful request. Refusals common to all endpoints are made
 * from it (schema.ts); only the others need a recipe.
 */
export type Recipe = {
  readonly ok: Make
  /** The request that is answered with the other status of its contract, where that is not the repeated `ok`. */
  readonly again?: Make
} & { readonly [problem in ProblemName]?: Make }

/** Recipes by the id of their contract. */
export type Recipes = { readonly [contract: string]: Recipe }
