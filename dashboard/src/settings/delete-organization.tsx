import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'
import { call } from '../api.ts'
import { useFreshSession, useMe } from '../session.tsx'
import { ProblemAlert } from '../ui/problem-alert.tsx'
import { useSubmit } from '../ui/use-submit.ts'

function Question({ onCancel }: { onCancel: () => void }) {
  const { organization } = useMe()
  const refresh = useFreshSession()
  const form = useForm({ initialValues: { name: '' } })
  const { fault, busy, onSubmit } = useSubmit(form, async (body) => {
    await call('DELETE /v1/organization', { body })
    notifications.show({ message: `${organization.name} is deleted.` })
    await refresh()
  })
  return (
    <form onSubmit={onSubmit} noValidate>
      <Stack>
        <Text size="sm">
          Its monitors, agents, keys, webhooks and history go at once and for good, and everybody in it is signed out of
          it. Accounts stay. This cannot be undone.
        </Text>
        <ProblemAlert error={fault} />
        <TextInput
          label={
            <>
              Type <strong>{organization.name}</strong> to confirm
            </>
          }
          autoComplete="off"
          data-autofocus
          {...form.getInputProps('name')}
        />
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <Button type="submit" color="red" loading={busy}>
            Delete for good
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

/** For owners. */
export function DeleteOrganization() {
  const { organization } = useMe()
  const [opened, setOpened] = useState(false)
  const close = () => setOpened(false)
  return (
    <>
      <Group>
        <Button variant="light" color="red" onClick={() => setOpened(true)}>
          Delete the organization
        </Button>
      </Group>
      <Modal
        opened={opened}
        onClose={close}
        title={`Delete ${organization.name}?`}
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        <Question onCancel={close} />
      </Modal>
    </>
  )
}
