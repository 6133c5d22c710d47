"""Sentences about passwords, keys, tokens and secrets: some hold one, more of them hold none.

Written by hand, people and places invented; every second one of each list was not looked at while
the patterns were written.
"""

from __future__ import annotations

HOLD_NONE = """
The password reset link was sent to ada99@example.com
My password manager is 1Password
The password policy is ISO27001 compliant
The password prompt is shown to user42
Password length is 12-characters minimum
The password page was moved to https://example.org/login2
The api key rotation was moved to deployment-2024-05-staging
Her password reset mail was sent to bob2@corp.example yesterday
The password is SHA256-hashed before it is stored
Password hashing was moved to bcrypt2 last year
Our password vault was moved to Bitwarden-v2024
The password field is on page2/login
The password change is scheduled to 2026-05-03T10:00
The access token is refreshed to keep sessions-2024-active
The api key page is https://console.example.com/keys/v2/list
My access token lifetime is 3600-seconds-per-session1
The client secret was added to kubernetes-secret-prod-01
The API key was moved to vault/prod/service-2/key
The auth token endpoint is /api/v2/oauth/token/refresh
The client secret is in ticket PLATFORM-12345-rotation
The passphrase was migrated to GPG2-agent
She said the password reset is ticket JIRA-1234
The wifi password is on the fridge
The password for the door is 4711
The password expires 90 days from now
The passwordless login is FIDO2-based
They asked whether the password is 8-12 characters
The password is the same as in 2023
password rotation is due to PCI-DSS4.0
The password file is /etc/shadow2
The password was last changed by noor77 in March
Lea forgot her password and called helpdesk24
The password for ada99@example.com was reset yesterday
The password is valid for 90days
The password is 12-characters long
The password was reset 3x today
The password is sent to ada99@example.com by mail
Passwords are checked against the top10000 list
The password of the guest account is printed on form B12/2024
The password hint is in room214b
The passphrase is six words from the EFF list
The passphrase generator is diceware7
The root password is only known to Rami and Mei
The password was changed to something longer
The new password is required by 2025-11-30T12:00
My password is not working since version2.3
The password is in 1Password under home-router2
The password is in the safe of office3b
The password was changed at 10:45am
The password is case-sensitive and has 16chars
Is the password really stored in plain text on srv01a
the secret key of success is practice and more practice
The api key is in the vault under team-platform-2024-keys
The api key is required for every request to endpoint-v2-beta
The API key for staging is rotated every 90days by cronjob-rotate-keys-01
The access token for CI is issued by login-service-eu-west-1a
Our secret token is checked in middleware_auth_v2_handler
The secret key is derived with pbkdf2-hmac-sha256-100000
The API token was revoked in incident-2024-0117-postmortem
The access key is stored as projects/12345/secrets/db-pass/versions/1
secret: projects/12345/secrets/db-pass/versions/1
token: tokenizer-v2-multilingual-2024
credentials: see-confluence-page-12345
access_key: AWS_ACCESS_KEY_ID_2024_STAGING
credentials = standard_b64encode(user + b":" + password)
private_key = ed25519.Ed25519PrivateKey.generate()
secret = load_secret_from_vault_v2
token = response_2["access_token_value"]
token = self.tokenizer_v2.next_token_id_2
password = hashlib.sha256(raw).hexdigest()
password = getpass.getpass("Password: ")
password=os.environ["DB_PASSWORD_2"]
password => bcrypt($x)
password: ${DB_PASSWORD_2}
password: {{ vault_db_password_2 }}
pwd: /home/ada/project2
PWD=/home/ada/work2
pwd=C:\\Users\\ada2
private_key: /home/ada/.ssh/id_rsa_2024
api_key = settings.providers_v2.openai_api_key
api_key=config.get_api_key_v2("openai")
secret_key = derive_key_from_seed_32(seed)
token_type: bearer, expires_in: 3600
max_tokens=4096 and token count: 128000
next_page_token=CAUQAA2
--password-file /run/secrets/db2
proxy http://proxy:3128@dc1
see http://localhost:8080/@ada
docker login --password-stdin registry2.example.org
2025-03-04 10:11:12 WARN password check failed for user42 from 10.0.0.7
INFO auth: password accepted for ada from 10.1.2.3 port 51234 ssh2
ERROR token expired at 2025-03-04T10:11:12Z, request req-12345 was refused
DEBUG access token is cached for 3600s under key session:v2:ada99
sshd[1234]: Failed password for root from 192.0.2.7 port 4022 ssh2
The secret is to start early, said Mei at the 10km-run
The key to the house is under pot3
Jonas lost his key card for building12b
The token economy was discussed in chapter12b
Secret Santa was moved to 2025-12-18, room4b
The key result for Q3 is OKR-2024-Q3-growth-team-2
Basic auth was replaced with OAuth2 in release2.4
Bearer tokens were moved to header-based-auth-v2-2024
The password strength meter is zxcvbn4
A password of the form word-word-99x is weak
The password dialog was renamed to LoginDialog2
The password column was changed to varchar255
The secret scanning job is run on runner-02-large
The client secret page is documented in docs/identity/v2/client-secrets
The password was shared in meeting room5b by mistake
""".strip().splitlines()
"""Nothing here may be removed."""

HOLD_ONE = """
the wifi password is tr0ub4dor&3|tr0ub4dor&3
use pw hunter2!x for staging|hunter2!x
My password is Sunflower-42x|Sunflower-42x
the password for the router is blue!Tiger77|blue!Tiger77
password: Str0ng!Winter|Str0ng!Winter
The root password was changed to c4stle_moat9|c4stle_moat9
The password for staging is now gr33n-T3a-cup|gr33n-T3a-cup
passphrase is corr3ct-h0rse-battery|corr3ct-h0rse-battery
I set the password to m00nlight#8|m00nlight#8
please change the password to Ky0to2019!|Ky0to2019!
The database password will be x9Kp2mQ7vL|x9Kp2mQ7vL
"The admin password is "p4ncake_Sunday""|p4ncake_Sunday
his password has been reset to Tmp-8841-zz|Tmp-8841-zz
The NAS password is still dr4gonfly7|dr4gonfly7
password for the guest network is w3lcome_2_us|w3lcome_2_us
The password on the old laptop is k1wi-Bird55|k1wi-Bird55
Password to the shared drive is 0range_juice|0range_juice
The password of the printer is pr1nt3r!now|pr1nt3r!now
The password is: gl4cier-Peak3|gl4cier-Peak3
the password was reset to n3wYear!26|n3wYear!26
The api key is 8f3kd92msl20dkf93ms02kd|8f3kd92msl20dkf93ms02kd
The API key for weather is b7c1e9f2a4d85306c9e1|b7c1e9f2a4d85306c9e1
our access token was changed to Zk3mP9qR7tX2vL5nB8wC|Zk3mP9qR7tX2vL5nB8wC
The client secret for the app is q8W3eR5tY7uI9oP1aS2d|q8W3eR5tY7uI9oP1aS2d
The secret key is now 4f9a8b7c6d5e4f3a2b1c0d9e|4f9a8b7c6d5e4f3a2b1c0d9e
aws secret is wJa1rXUt2nFEMI3K7MDENG4bPx|wJa1rXUt2nFEMI3K7MDENG4bPx
the auth token is a1B2c3D4e5F6g7H8i9J0|a1B2c3D4e5F6g7H8i9J0
api_key=k3yk3y9a8b7c6d5e4f3g2h1i|k3yk3y9a8b7c6d5e4f3g2h1i
export DB_PASSWORD=Xk29!mmQpz|Xk29!mmQpz
"password": "l4vender-Field"|l4vender-Field
mysql -u root --password s3cr3tpw9|s3cr3tpw9
curl -u ada:Fr0stByte9 https://api.example.org|Fr0stByte9
postgres://ada:Xy12zz9q@db.example.com/shop|Xy12zz9q
username/password: admin/admin1x9|admin1x9
Log in with password Gr4nite!99|Gr4nite!99
The login is ada, password is Oc3an_Breeze|Oc3an_Breeze
user ada password R1verbank!7|R1verbank!7
Rami said that the wifi password is caf3-Latte8|caf3-Latte8
Remember: my password is z3bra-Stripe1|z3bra-Stripe1
FYI the password for the test account is T3st!acc0unt|T3st!acc0unt
Lea's password is p1anoForte_3|p1anoForte_3
The vpn password was set to vpn!Acc3ss22|vpn!Acc3ss22
The new wifi password is Lemon%Tree4|Lemon%Tree4
pwd=Qwer7y!uiop|Qwer7y!uiop
passwd: 7ulipGarden+|7ulipGarden+
The passphrase for the backup is v1olet-Sky-lamp9|v1olet-Sky-lamp9
the passphrase was changed to r3d-Fox-jumps-8|r3d-Fox-jumps-8
DB password = h0neyBee#12|h0neyBee#12
Our door code app password is S4fe&Sound1|S4fe&Sound1
my token: 9s8d7f6g5h4j3k2l1q0w|9s8d7f6g5h4j3k2l1q0w
secret = "n0t4sk3dF0rButG1v3n99"|n0t4sk3dF0rButG1v3n99
The API token is Hq7Lm2Xz9Rt4Kv6Np8Wd|Hq7Lm2Xz9Rt4Kv6Np8Wd
access_token: U5gT8rK1mZ4xQ7bN2vC9|U5gT8rK1mZ4xQ7bN2vC9
The password to the mailbox is Pelik4n~Nest|Pelik4n~Nest
The password at work is B0okshelf_77|B0okshelf_77
The password is 'c0conut%Milk'|c0conut%Milk
Our Netflix password is P0pcorn.Night2|P0pcorn.Night2
The password was Autumn!Leaf3 until Friday|Autumn!Leaf3
Authorization: Bearer abcDEFghiJKLmnoPQRstuVWXyz|abcDEFghiJKLmnoPQRstuVWXyz
The grafana password is d4shb0ard^Up|d4shb0ard^Up
enter the password Mapl3$yrup when asked|Mapl3$yrup
pw for the lab pc is Micr0sc0pe!|Micr0sc0pe!
""".strip().splitlines()
"""A sentence, and what must not stay of it."""
HELD = [(line.rpartition("|")[0], line.rpartition("|")[2]) for line in HOLD_ONE]
