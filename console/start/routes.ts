import { paths } from '../paths.ts'
import { page, type Section } from '../shell/section.ts'
import { words } from '../words/en/shell.ts'

export const start: Section = {
  name: 'start',
  title: () => words.sections.start,
  icon: 'zap',
  key: 's',
  place: 'account',
  pages: [
    page({
      path: paths.start,
      title: () => words.pages.start,
      needs: 'develop',
      isListed: true,
      load: () => import('./start.tsx').then(({ StartPage }) => StartPage),
    }),
  ],
}
