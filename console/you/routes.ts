import { paths } from '../paths.ts'
import { page, type Section } from '../shell/section.ts'
import { loadStyle } from '../shell/styles.ts'
import { words } from '../words/en/shell.ts'

export const you: Section = {
  name: 'you',
  title: () => words.sections.you,
  icon: 'user',
  place: 'none',
  pages: [
    page({
      path: paths.profile,
      title: () => words.profile,
      isListed: true,
      load: () => import('./profile.tsx').then(({ ProfilePage }) => ProfilePage),
    }),
    page({
      path: paths.sessions,
      title: () => words.sessions,
      isListed: true,
      load: () => import('./sessions.tsx').then(({ SessionsPage }) => SessionsPage),
    }),
    page({
      path: paths.security,
      title: () => words.security,
      isListed: true,
      load: () => import('./security.tsx').then(({ SecurityPage }) => SecurityPage),
    }),
    page({
      path: paths.telephone,
      title: () => words.phone,
      isListed: true,
      load: async () => {
        const [{ TelephonePage }] = await Promise.all([import('./telephone.tsx'), loadStyle('phone')])
        return TelephonePage
      },
    }),
    page({
      path: paths.notifications,
      title: () => words.notifications,
      isListed: true,
      load: () => import('./notifications.tsx').then(({ NotificationsPage }) => NotificationsPage),
    }),
  ],
}
