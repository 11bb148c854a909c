import type { ComponentChildren, Ref } from 'preact'
import { useId } from 'preact/hooks'
import type { IconName } from '../icons/names.ts'
import { words } from '../words/en/parts.ts'
import { classes } from './classes.ts'
import { Icon } from './icon.tsx'
import { Tooltip } from './tooltip.tsx'

type Look = {
  /** One primary button on a page. Default: plain. */
  readonly kind?: 'primary' | 'plain' | 'quiet' | 'danger'
  readonly size?: 'small' | 'normal'
  readonly icon?: IconName | undefined
  readonly iconEnd?: IconName | undefined
  /** Only the icon is visible; `children` names the button. */
  readonly iconOnly?: boolean
  readonly wide?: boolean
  readonly children: ComponentChildren
}

export type ButtonProps = Look & {
  readonly type?: 'button' | 'submit' | 'reset'
  readonly form?: string | undefined
  readonly onClick?: ((event: MouseEvent) => void) | undefined
  /** Why the act is not possible now. The button remains focusable, so that everyone can read the reason. */
  readonly reason?: string | undefined
  /** The act is under way. */
  readonly busy?: boolean
  readonly pressed?: boolean
  readonly expanded?: boolean
  readonly controls?: string | undefined
  readonly shortcut?: string | undefined
  readonly id?: string | undefined
  readonly popovertarget?: string | undefined
  readonly haspopup?: 'menu' | 'dialog' | undefined
  readonly autofocus?: boolean
  readonly buttonRef?: Ref<HTMLButtonElement>
}

const classOf = ({ kind = 'plain', size = 'normal', iconOnly, wide }: Look): string =>
  classes('button', `button-${kind}`, size === 'small' && 'button-small', iconOnly && 'button-icon', wide && 'wide')

const Content = ({ icon, iconEnd, iconOnly, children }: Look) => (
  <>
    {icon && <Icon name={icon} />}
    {children && <span class={iconOnly ? 'for-readers' : 'button-text'}>{children}</span>}
    {iconEnd && <Icon name={iconEnd} class="icon-end" />}
  </>
)

export const Button = (props: ButtonProps) => {
  const { type = 'button', reason, busy = false, onClick, iconOnly, children, size = 'normal' } = props
  const reasonId = useId()
  const isBlocked = reason !== undefined || busy
  const button = (
    <button
      {...(props.buttonRef === undefined ? {} : { ref: props.buttonRef })}
      id={props.id}
      type={type}
      form={props.form}
      class={classes(classOf(props), busy && 'is-busy')}
      aria-disabled={isBlocked ? 'true' : undefined}
      aria-describedby={reason === undefined ? undefined : reasonId}
      aria-busy={busy ? 'true' : undefined}
      aria-pressed={props.pressed === undefined ? undefined : props.pressed ? 'true' : 'false'}
      aria-expanded={props.expanded === undefined ? undefined : props.expanded ? 'true' : 'false'}
      aria-controls={props.controls}
      aria-haspopup={props.haspopup}
      aria-keyshortcuts={props.shortcut}
      popovertarget={props.popovertarget}
      autofocus={props.autofocus}
      onClick={(event) => {
        // A disabled submit button must not submit: aria-disabled alone does not stop it.
        if (isBlocked) event.preventDefault()
        else onClick?.(event)
      }}
    >
      <Content {...props} size={size} icon={busy ? 'loader-circle' : props.icon} />
      {busy && <span class="for-readers">{words.busy}</span>}
    </button>
  )
  if (reason !== undefined)
    return (
      <Tooltip text={reason} id={reasonId}>
        {button}
      </Tooltip>
    )
  return iconOnly && typeof children === 'string' ? <Tooltip text={children}>{button}</Tooltip> : button
}

export type ButtonLinkProps = Look & {
  readonly href: string
  readonly download?: string | undefined
  /** Opens in a tab of its own. */
  readonly external?: boolean
}

/** A link that looks like a button: it leads somewhere, and a button does something. */
export const ButtonLink = (props: ButtonLinkProps) => (
  <a
    class={classOf(props)}
    href={props.href}
    download={props.download}
    {...(props.external ? { target: '_blank', rel: 'noreferrer' } : {})}
  >
    <Content {...props} iconEnd={props.external ? 'external-link' : props.iconEnd} />
  </a>
)
