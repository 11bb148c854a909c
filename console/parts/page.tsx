import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { Icon } from './icon.tsx'

export type Crumb = { readonly text: string; readonly href: string }

export type PageProps = {
  readonly title: string
  /** Text behind the title in the tab of the browser: `Numbers · Acme`. */
  readonly place?: string
  readonly lead?: ComponentChildren
  readonly crumbs?: readonly Crumb[]
  readonly status?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly width?: 'narrow' | 'normal' | 'full'
  readonly children: ComponentChildren
}

/** A page: one h1, which takes the focus after navigation, and the acts of the page. */
export const Page = ({ title, place, lead, crumbs = [], status, actions, width = 'normal', children }: PageProps) => {
  useEffect(() => {
    document.title = place === undefined ? title : `${title} · ${place}`
  }, [title, place])
  return (
    <div class={`page page-${width}`}>
      <header class="page-head">
        <div class="page-heading">
          {crumbs.length > 0 && (
            <ol class="crumbs">
              {crumbs.map(({ text, href }) => (
                <li key={href}>
                  <a href={href}>{text}</a>
                  <Icon name="chevron-right" class="icon-turn" />
                </li>
              ))}
            </ol>
          )}
          <div class="page-title">
            <h1 tabIndex={-1} dir="auto">
              {title}
            </h1>
            {status}
          </div>
          {lead && <div class="page-lead">{lead}</div>}
        </div>
        {actions && <div class="page-actions">{actions}</div>}
      </header>
      {children}
    </div>
  )
}

type SectionProps = {
  readonly title: string
  readonly lead?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

/** A part of a page under its own h2. */
export const Section = ({ title, lead, actions, children }: SectionProps) => (
  <section class="section">
    <header class="section-head">
      <div>
        <h2>{title}</h2>
        {lead && <p class="soft">{lead}</p>}
      </div>
      {actions && <div class="page-actions">{actions}</div>}
    </header>
    {children}
  </section>
)

/** A box with a line around it. Boxes do not contain boxes. */
export const Card = ({
  title,
  actions,
  children,
}: {
  title?: string
  actions?: ComponentChildren
  children: ComponentChildren
}) => (
  <section class="card">
    {title !== undefined && (
      <header class="card-head">
        <h2>{title}</h2>
        {actions}
      </header>
    )}
    {children}
  </section>
)

export type Fact = { readonly name: string; readonly value: ComponentChildren }

/** Names and values, in two columns where there is room. */
export const KeyValue = ({ facts }: { facts: readonly Fact[] }) => (
  <dl class="facts">
    {facts.map(({ name, value }) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
)

/** A figure with its name: for overviews. */
export const Figure = ({ name, value, note }: { name: string; value: ComponentChildren; note?: ComponentChildren }) => (
  <div class="figure">
    <div class="figure-name">{name}</div>
    <div class="figure-value tabular">{value}</div>
    {note && <div class="figure-note">{note}</div>}
  </div>
)
