import { type FormEvent, useState } from 'react'
import { Problem } from '../api.ts'

/** What is needed of Mantine's form. */
interface Form<V> {
  setErrors(errors: Record<string, string>): void
  onSubmit(handle: (values: V) => void): (event?: FormEvent<HTMLFormElement>) => void
}

/** `/settings/expectedStatus` is the field settings.expectedStatus. */
function fieldOf(pointer: string): string {
  return pointer.split('/').slice(1).join('.')
}

/**
 * Sends a form: what the API says of a field stands at that field, all else above the form, and what was typed stays.
 * `work` resolves when it is done.
 */
export function useSubmit<V extends object>(form: Form<V>, work: (values: V) => Promise<void>) {
  const [fault, setFault] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)

  async function send(values: V): Promise<void> {
    setBusy(true)
    setFault(null)
    try {
      await work(values)
    } catch (error) {
      const errors = error instanceof Problem ? error.errors : []
      const known = errors.filter(({ pointer }) => fieldOf(pointer) in values)
      form.setErrors(Object.fromEntries(known.map(({ pointer, detail }) => [fieldOf(pointer), detail])))
      if (known.length === 0 || known.length < errors.length) setFault(error)
    } finally {
      setBusy(false)
    }
  }

  return { fault, busy, onSubmit: form.onSubmit((values) => void send(values)) }
}
