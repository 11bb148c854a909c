import type { ComponentType } from 'preact'
import type { Capability } from '../api/session-types.ts'
import type { IconName } from '../icons/names.ts'
import type { AnyPath, PageOf } from '../paths.ts'

/** A page as the router, the navigation and the palette know it. */
export type PageRoute = {
  readonly path: AnyPath
  readonly title: () => string
  /** The right that the page needs. Without it, the page is in no list, and its address shows who has the right. */
  readonly needs?: Capability | 'operator' | undefined
  /** Another right that suffices. */
  readonly orNeeds?: Capability
  /** True: a link in the navigation of its section, and in the palette. */
  readonly isListed?: boolean
  readonly load: () => Promise<ComponentType<AnyPage>>
}

/** Properties of a page when its path is not known. */
export type AnyPage = {
  readonly params: Readonly<Record<string, string>>
  readonly search: Readonly<Record<string, string>>
}

type RouteOf<T> = Omit<PageRoute, 'path' | 'load'> & {
  readonly path: T
  readonly load: () => Promise<ComponentType<PageOf<T>>>
}

/** Makes the route of a page, and checks that its component takes the parameters of the path. */
export const page = <T extends { readonly pattern: string }>(route: RouteOf<T>): PageRoute =>
  // The router fills the parameters by the pattern of the path.
  route as unknown as PageRoute

export type Section = {
  readonly name: string
  readonly title: () => string
  readonly icon: IconName
  /** Key after `g` that opens the section. */
  readonly key?: string
  /** `account`: in the navigation of an account. `operator`: in that of operators. `none`: in none. */
  readonly place: 'account' | 'operator' | 'none'
  readonly pages: readonly PageRoute[]
}
