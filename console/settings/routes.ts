import { paths } from '../paths.ts'
import { page, type Section } from '../shell/section.ts'
import { words } from '../words/en/shell.ts'

export const settings: Section = {
  name: 'settings',
  title: () => words.sections.settings,
  icon: 'settings',
  key: 'e',
  place: 'account',
  pages: [
    page({
      path: paths.settings,
      title: () => words.pages.settings,
      needs: 'account',
      isListed: true,
      load: () => import('./account.tsx').then(({ AccountPage }) => AccountPage),
    }),
    page({
      path: paths.inboxTags,
      title: () => words.pages.inboxTags,
      needs: 'team_settings',
      isListed: true,
      load: () => import('./tags.tsx').then(({ TagsPage }) => TagsPage),
    }),
    page({
      path: paths.cannedReplies,
      title: () => words.pages.cannedReplies,
      needs: 'inbox',
      isListed: true,
      load: () => import('./replies.tsx').then(({ RepliesPage }) => RepliesPage),
    }),
    page({
      path: paths.inboxViews,
      title: () => words.pages.inboxViews,
      needs: 'inbox',
      isListed: true,
      load: () => import('./views.tsx').then(({ ViewsPage }) => ViewsPage),
    }),
    page({
      path: paths.audit,
      title: () => words.pages.audit,
      needs: 'people',
      isListed: true,
      load: () => import('./audit.tsx').then(({ AuditPage }) => AuditPage),
    }),
  ],
}
