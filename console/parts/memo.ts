import { Component, type ComponentChild, type FunctionComponent, h } from 'preact'

const differs = <Props extends object>(before: Readonly<Props>, next: Readonly<Props>): boolean => {
  for (const name in next) if (before[name] !== next[name]) return true
  return Object.keys(before).length !== Object.keys(next).length
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
