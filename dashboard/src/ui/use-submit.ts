import { type FormEvent, useState } from 'react'
import { flushSync } from 'react-dom'
import { Problem } from '../api.ts'
import { useProven } from './proven.ts'

/** What is needed of Mantine's form. */
interface Form<V> {
  setErrors(errors: Record<string, string>): void
  onSubmit(
    handle: (values: V, event: FormEvent<HTMLFormElement> | undefined) => void
  ): (event?: FormEvent<HTMLFormElement>) => void
}

/** `/settings/expectedStatus` is the field settings.expectedStatus. */
function fieldOf(pointer: string): string {
  return pointer.split('/').slice(1).join('.')
}

/**
 * Sends a form: what the API says of a field stands at that field, which gets the focus, all else above the form, and
 * what was typed stays. `work` resolves when it is done.
 */
export function useSubmit<V extends object>(form: Form<V>, work: (values: V) => Promise<void>) {
  const [fault, setFault] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const proven = useProven()

  function show(error: unknown, element: Element | undefined, values: V): void {
    const errors = error instanceof Problem ? error.errors : []
    const known = errors.filter(({ pointer }) => fieldOf(pointer) in values)
    flushSync(() => {
      setBusy(false)
      form.setErrors(Object.fromEntries(known.map(({ pointer, detail }) => [fieldOf(pointer), detail])))
      if (known.length === 0 || known.length < errors.length) setFault(error)
    })
    const wrong = element?.querySelector('[aria-invalid=true]')
    if (wrong instanceof HTMLElement) wrong.focus()
  }

  async function send(values: V, element: Element | undefined): Promise<void> {
    setBusy(true)
    setFault(null)
    try {
      await proven(() => work(values))
      setBusy(false)
    } catch (error) {
      show(error, element, values)
    }
  }

  return { fault, busy, onSubmit: form.onSubmit((values, event) => void send(values, event?.currentTarget)) }
}
