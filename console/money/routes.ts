import { paths } from '../paths.ts'
import { page, type Section } from '../shell/section.ts'
import { words } from '../words/en/shell.ts'

export const money: Section = {
  name: 'money',
  title: () => words.sections.money,
  icon: 'wallet',
  key: 'm',
  place: 'account',
  pages: [
    page({
      path: paths.money,
      title: () => words.pages.money,
      needs: 'money',
      isListed: true,
      load: () => import('./ledger.tsx').then(({ LedgerPage }) => LedgerPage),
    }),
    page({
      path: paths.holds,
      title: () => words.pages.holds,
      needs: 'money',
      isListed: true,
      load: () => import('./holds.tsx').then(({ HoldsPage }) => HoldsPage),
    }),
    page({
      path: paths.usage,
      title: () => words.pages.usage,
      needs: 'read_only',
      isListed: true,
      load: () => import('./usage.tsx').then(({ UsagePage }) => UsagePage),
    }),
  ],
}
