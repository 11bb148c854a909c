/** Icons of the sprite, by their names in lucide-static. After a change run `node_modules/.bin/node scripts/icons.ts`. */
export const iconNames = [
  ...['activity', 'arrow-down', 'arrow-left', 'arrow-right', 'arrow-up', 'ban', 'bell', 'book-open', 'calendar'],
  ...['chart-line', 'check', 'chevron-down', 'chevron-left', 'chevron-right', 'chevron-up', 'chevrons-up-down'],
  ...['circle', 'circle-alert', 'circle-check', 'circle-dot', 'circle-question-mark', 'circle-x', 'clock', 'code-xml'],
  ...['copy', 'credit-card', 'database', 'download', 'ellipsis', 'external-link', 'eye', 'eye-off', 'file', 'filter'],
  ...['globe', 'hash', 'history', 'hourglass', 'image', 'inbox', 'info', 'key-round', 'keyboard', 'link', 'list'],
  ...['loader-circle', 'lock', 'log-out', 'map-pin', 'menu', 'message-square', 'mic', 'minus', 'monitor', 'moon'],
  ...[
    'package',
    'paperclip',
    'pause',
    'pencil',
    'phone',
    'phone-incoming',
    'phone-missed',
    'phone-off',
    'phone-outgoing',
  ],
  ...[
    'play',
    'plus',
    'qr-code',
    'radio',
    'receipt',
    'refresh-cw',
    'scroll-text',
    'search',
    'send',
    'server',
    'settings',
  ],
  ...['shield', 'signal', 'smartphone', 'star', 'sun', 'tag', 'terminal', 'trash-2', 'triangle-alert', 'unlink'],
  ...['alarm-clock', 'check-check', 'flag', 'mail', 'panel-right', 'reply', 'smile', 'sticky-note', 'user-check'],
  ...['upload', 'user', 'user-plus', 'users', 'wallet', 'webhook', 'x', 'zap'],
] as const

export type IconName = (typeof iconNames)[number]
