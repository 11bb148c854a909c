import { useState } from 'preact/hooks'
import { type ApiError, asApiError } from '../api/errors.ts'
import { send } from '../api/send.ts'

/** Sends a form of sign-in. Such requests never open another sign-in. */
export const useSubmit = <T>(route: string, after: (reply: T) => void) => {
  const [state, setState] = useState<{ isPending: boolean; error: ApiError | undefined }>({
    isPending: false,
    error: undefined,
  })
  const submit = async (body: object, params: Readonly<Record<string, string>> = {}) => {
    setState({ isPending: true, error: undefined })
    try {
      const reply = await send(route, { params, body }, { recover: false })
      setState({ isPending: false, error: undefined })
      // The contract of the route has this type.
      after(reply as T)
    } catch (error) {
      setState({ isPending: false, error: asApiError(error) })
    }
  }
  return { ...state, submit }
}
