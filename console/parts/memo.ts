import { Component, type ComponentChild, type FunctionComponent, h } from 'preact'

const differs = (before: object, next: object): boolean => {
  const [old, entries] = [new Map<string, unknown>(Object.entries(before)), Object.entries(next)]
  return entries.length !== old.size || entries.some(([name, value]) => old.get(name) !== value)
}

/** Makes a component that is drawn again only when a property is another value or object, or a signal inside changes. */
export const memo = <Props extends object>(Inner: FunctionComponent<Props>) =>
  class Memo extends Component<Props> {
    override shouldComponentUpdate(next: Readonly<Props>): boolean {
      return differs(this.props, next)
    }

    override render(): ComponentChild {
      return h(Inner, this.props)
    }
  }
