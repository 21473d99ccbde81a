import { Anchor, Button, Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useQuery } from '@tanstack/react-query'
import { Link, useLocation } from 'wouter'
import { type Answer, call } from '../api.ts'
import { meOf, useFreshSession, useSession } from '../session.tsx'
import { AsyncView } from '../ui/async-view.tsx'
import { PasswordField } from '../ui/password-field.tsx'
import { ProblemAlert } from '../ui/problem-alert.tsx'
import { ProviderButtons } from '../ui/provider-buttons.tsx'
import { SignedOutPage } from '../ui/signed-out-page.tsx'
import { useSubmit } from '../ui/use-submit.ts'

type Invitation = Answer<'GET /v1/invitations/{token}'>

function useAccept(token: string) {
  const [, navigate] = useLocation()
  const refresh = useFreshSession()
  return async (body: { name?: string; password?: string }) => {
    await call('POST /v1/invitations/{token}/accept', { params: { token }, body })
    await refresh()
    navigate('/')
  }
}

function NewAccount({ token }: { token: string }) {
  const accept = useAccept(token)
  const form = useForm({ initialValues: { name: '', password: '' } })
  const { fault, busy, onSubmit } = useSubmit(form, accept)
  return (
    <form onSubmit={onSubmit} noValidate>
      <Stack>
        <ProblemAlert error={fault} />
        <TextInput label="Your name" required autoComplete="name" {...form.getInputProps('name')} />
        <PasswordField chosen {...form.getInputProps('password')} />
        <Button type="submit" loading={busy}>
          Join
        </Button>
      </Stack>
    </form>
  )
}

function OwnAccount({ token, email }: { token: string; email: string }) {
  const accept = useAccept(token)
  const form = useForm({ initialValues: {} })
  const { fault, busy, onSubmit } = useSubmit(form, () => accept({}))
  return (
    <form onSubmit={onSubmit}>
      <Stack>
        <ProblemAlert error={fault} />
        <Text size="sm">You are signed in as {email}.</Text>
        <Button type="submit" loading={busy}>
          Join
        </Button>
      </Stack>
    </form>
  )
}

function Choice({ token, invitation }: { token: string; invitation: Invitation }) {
  const session = useSession()
  const me = session.data === undefined ? null : meOf(session.data)
  if (session.isPending) return null
  if (me !== null) return <OwnAccount token={token} email={me.user.email} />
  return (
    <>
      {invitation.accountExists ? <SignInFirst token={token} email={invitation.email} /> : <NewAccount token={token} />}
      <ProviderButtons query={{ returnTo: '/', invitation: token }} />
    </>
  )
}

function SignInFirst({ token, email }: { token: string; email: string }) {
  return (
    <Text>
      You have an account with {email}.{' '}
      <Anchor
        component={Link}
        href={`/login?next=${encodeURIComponent(`/invitations/${token}`)}`}
        inherit
        underline="always"
      >
        Sign in
      </Anchor>{' '}
      to join.
    </Text>
  )
}

export function InvitationPage({ token }: { token: string }) {
  const query = useQuery({
    queryKey: ['invitation', token],
    queryFn: ({ signal }) => call('GET /v1/invitations/{token}', { params: { token } }, signal)
  })
  return (
    <SignedOutPage title="Invitation">
      <AsyncView query={query}>
        {(invitation) => (
          <>
            <Text>
              {invitation.email} is invited to <strong>{invitation.organizationName}</strong> as {invitation.role}.
            </Text>
            <Choice token={token} invitation={invitation} />
          </>
        )}
      </AsyncView>
    </SignedOutPage>
  )
}
