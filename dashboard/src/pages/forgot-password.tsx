import { Anchor, Button, Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useState } from 'react'
import { Link } from 'wouter'
import { call } from '../api.ts'
import { AsyncView } from '../ui/async-view.tsx'
import { CopyBlock } from '../ui/copy-block.tsx'
import { ProblemAlert } from '../ui/problem-alert.tsx'
import { useMethods } from '../ui/provider-buttons.tsx'
import { SignedOutPage } from '../ui/signed-out-page.tsx'
import { useSubmit } from '../ui/use-submit.ts'

function AskForLink() {
  const [sent, setSent] = useState(false)
  const form = useForm({ initialValues: { email: '' } })
  const { fault, busy, onSubmit } = useSubmit(form, async (body) => {
    await call('POST /v1/auth/password/forgot', { body })
    setSent(true)
  })
  if (sent) {
    return (
      <Text role="status">
        If there is an account with that address, a mail with a link is on its way. The link is good for an hour. No
        mail? Whoever runs this installation can set a new password for you.
      </Text>
    )
  }
  return (
    <form onSubmit={onSubmit} noValidate>
      <Stack>
        <ProblemAlert error={fault} />
        <TextInput label="E-mail" type="email" required autoComplete="username" {...form.getInputProps('email')} />
        <Button type="submit" loading={busy}>
          Send me a link
        </Button>
      </Stack>
    </form>
  )
}

function AskTheOperator() {
  return (
    <Stack gap="xs">
      <Text>This installation sends no mail, so there is no link by which you could set a new password yourself.</Text>
      <Text>Ask whoever runs it. They set a new one with this command, where Pulsegate runs:</Text>
      <CopyBlock text="npm run admin -- users reset-password you@example.com" label="command" />
    </Stack>
  )
}

export function ForgotPasswordPage() {
  const methods = useMethods()
  return (
    <SignedOutPage title="Forgotten password">
      <AsyncView query={methods}>
        {({ passwordReset }) => (passwordReset ? <AskForLink /> : <AskTheOperator />)}
      </AsyncView>
      <Anchor component={Link} href="/login" size="sm" ta="center">
        Back to signing in
      </Anchor>
    </SignedOutPage>
  )
}
