import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { call, Problem } from '../api.ts'
import { SESSION_KEY, useMe } from '../session.tsx'
import { PasswordField } from './password-field.tsx'
import { ProblemAlert } from './problem-alert.tsx'
import { type Proven, ProvenContext } from './proven.ts'
import { ProviderButtons } from './provider-buttons.tsx'
import { useSubmit } from './use-submit.ts'

interface Asked {
  /** The person did, or gave up. */
  proven: () => void
  givenUp: () => void
}

function Question({ onProven, onCancel }: { onProven: () => void; onCancel: () => void }) {
  const { user, organization } = useMe()
  const queries = useQueryClient()
  const form = useForm({ initialValues: { password: '' } })
  const { fault, busy, onSubmit } = useSubmit(form, async ({ password }) => {
    await call('POST /v1/auth/login', { body: { email: user.email, password, organizationId: organization.id } })
    await queries.invalidateQueries({ queryKey: SESSION_KEY })
    onProven()
  })
  return (
    <form onSubmit={onSubmit} noValidate>
      <Stack>
        <Text size="sm">
          You signed in some time ago, and this asks for proof that it is you. What you were doing goes on after it.
        </Text>
        <ProblemAlert error={fault} />
        <PasswordField label={`Password of ${user.email}`} data-autofocus {...form.getInputProps('password')} />
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <Button type="submit" loading={busy}>
            Continue
          </Button>
        </Group>
        <ProviderButtons
          query={{
            returnTo: globalThis.location.pathname + globalThis.location.search,
            organizationId: organization.id
          }}
        />
      </Stack>
    </form>
  )
}

/** Asks for the password again where the API wants a recent sign-in, and then tries once more. */
export function ProveAgain({ children }: { children: ReactNode }) {
  const [asked, setAsked] = useState<Asked | null>(null)
  const proven: Proven = async (work) => {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== 'reauthentication_required') throw error
      await new Promise<void>((resolve, reject) => setAsked({ proven: resolve, givenUp: () => reject(error) })).finally(
        () => setAsked(null)
      )
      return work()
    }
  }
  return (
    <ProvenContext value={proven}>
      {children}
      <Modal
        opened={asked !== null}
        onClose={() => asked?.givenUp()}
        title="Is it you?"
        zIndex={400}
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        {asked === null ? null : <Question onProven={asked.proven} onCancel={asked.givenUp} />}
      </Modal>
    </ProvenContext>
  )
}
