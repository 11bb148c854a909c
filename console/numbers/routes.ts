import { paths } from '../paths.ts'
import { page, type Section } from '../shell/section.ts'
import { words } from '../words/en/shell.ts'

export const numbers: Section = {
  name: 'numbers',
  title: () => words.sections.numbers,
  icon: 'hash',
  key: 'n',
  place: 'account',
  pages: [
    page({
      path: paths.numbers,
      title: () => words.pages.numbers,
      needs: 'read_only',
      isListed: true,
      load: () => import('./numbers.tsx').then(({ NumbersPage }) => NumbersPage),
    }),
    page({
      path: paths.shop,
      title: () => words.pages.shop,
      needs: 'numbers',
      isListed: true,
      load: () => import('./shop.tsx').then(({ ShopPage }) => ShopPage),
    }),
    page({
      path: paths.callerIds,
      title: () => words.pages.callerIds,
      needs: 'read_only',
      isListed: true,
      load: () => import('./caller-ids.tsx').then(({ CallerIdsPage }) => CallerIdsPage),
    }),
    // Behind the pages above: their names would match as a number.
    page({
      path: paths.number,
      title: () => words.pages.number,
      needs: 'read_only',
      load: () => import('./number.tsx').then(({ NumberPage }) => NumberPage),
    }),
  ],
}
