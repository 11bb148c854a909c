import type { ProblemName } from '../../src/http/problem.ts'
import type { Scene } from './scene.ts'

/** The inputs of one call. */
export type Request = {
  params?: Record<string, string>
  query?: Record<string, string | number | boolean>
  /** JSON, or text where the contract takes text. */
  body?: unknown
  /** The token of a voice client. */
  bearer?: string
}

type Make = (scene: Scene) => Request | Promise<Request>

/**
 * How to bring an endpoint to each of its answers. `ok` is the request that is fulfilled; refusals that every endpoint has
 * alike are made from it (generic.ts), and only the others need a recipe of their own.
 */
export type Recipe = { readonly ok: Make } & { readonly [problem in ProblemName]?: Make }

/** By the id of the contract. */
export type Recipes = { readonly [contract: string]: Recipe }
