import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { notifications } from '@mantine/notifications'
import { call } from '../api.ts'
import { useMe } from '../session.tsx'
import { ProblemAlert } from '../ui/problem-alert.tsx'
import { useMethods } from '../ui/provider-buttons.tsx'
import { useSubmit } from '../ui/use-submit.ts'

/** The address that a person signs in with; a new one has to be proven by a mail. */
export function Email() {
  const { user } = useMe()
  const methods = useMethods().data
  const form = useForm({ initialValues: { email: '' } })
  const { fault, busy, onSubmit } = useSubmit(form, async (body) => {
    await call('POST /v1/me/email', { body })
    form.reset()
    notifications.show({ message: `A mail with a link is on its way to ${body.email}. Until then nothing changes.` })
  })
  return (
    <Stack maw={420}>
      <Text size="sm">{user.email}</Text>
      {methods?.passwordReset === false ? (
        <Text size="sm" c="dimmed">
          This installation sends no mail, so it cannot be changed here.
        </Text>
      ) : (
        <form onSubmit={onSubmit} noValidate>
          <Stack>
            <ProblemAlert error={fault} />
            <TextInput
              label="New e-mail address"
              type="email"
              required
              autoComplete="email"
              {...form.getInputProps('email')}
            />
            <Group>
              <Button type="submit" loading={busy}>
                Change the address
              </Button>
            </Group>
          </Stack>
        </form>
      )}
    </Stack>
  )
}
